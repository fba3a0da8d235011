#!/usr/bin/env python3
"""What cublasLt's heuristic answers for products, without running one of them.

    cublas_choices.py --kind bf16 --shapes shapes.csv --out my_gpu/cublas_choices_bf16.csv

A profile of launches (foretoken-measure gemm_bf16) holds as many shapes as time permits, some 15,000; the
library decides by a search of its own that a question alone makes it tell, 2,000 a second and core. Products
are as PyTorch asks for them: x[m,k] W[n,k]^T, which cuBLAS sees as column-major W^T x, with 32 MiB of
workspace; fp8 with one scale a tensor, fast accumulation and bf16 output. SHAPES has a line "m,n,k"
each. Numbers of tiles are read out of cublasLt.h. `foretoken-calibrate tiles --choices` learns from the
file; nothing is timed. Left out: depth of a slice, stages and cluster as launches have them, which the
answer names only in part.
"""

import argparse
import csv
import ctypes
import datetime
import gzip
import multiprocessing
import os
import re
import sys

WORKSPACE = 32 << 20
# Numbers of CUDA's enumerations (library_types.h, cublasLt.h).
R_32F, R_16BF, R_8F_E4M3, COMPUTE_32F = 0, 14, 28, 68
TRANSPOSE_A, TRANSPOSE_B, SCALE_A, SCALE_B, FAST_ACCUMULATION = 3, 4, 17, 18, 25
PREFERENCE_WORKSPACE = 1
ALGORITHM_TILE, ALGORITHM_SPLIT = 1, 2


class Heuristic(ctypes.Structure):
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t),
                ("state", ctypes.c_int), ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


def library():
    """The cublasLt that PyTorch calls."""
    import torch
    torch.zeros(1, device="cuda")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = [line.split()[-1] for line in maps if "libcublasLt.so" in line]
    return ctypes.CDLL(paths[0])


def ok(status, what):
    if status:
        sys.exit(f"cublasLt: {what}: status {status}")


class Questions:
    """One number format's descriptors, and the first answer for a shape."""

    def __init__(self, kind):
        import torch
        self.lt = library()
        self.handle, self.operation, self.preference = (ctypes.c_void_p() for _ in range(3))
        ok(self.lt.cublasLtCreate(ctypes.byref(self.handle)), "handle")
        ok(self.lt.cublasLtMatmulDescCreate(ctypes.byref(self.operation), COMPUTE_32F, R_32F), "product")
        self.put(TRANSPOSE_A, ctypes.c_int32(1))
        self.put(TRANSPOSE_B, ctypes.c_int32(0))
        self.dtype = R_16BF
        if kind == "fp8":
            self.dtype = R_8F_E4M3
            self.scales = torch.ones(128, device="cuda")
            self.put(SCALE_A, ctypes.c_void_p(self.scales.data_ptr()))
            self.put(SCALE_B, ctypes.c_void_p(self.scales.data_ptr() + 256))
            self.put(FAST_ACCUMULATION, ctypes.c_int8(1))
        ok(self.lt.cublasLtMatmulPreferenceCreate(ctypes.byref(self.preference)), "preference")
        size = ctypes.c_size_t(WORKSPACE)
        ok(self.lt.cublasLtMatmulPreferenceSetAttribute(self.preference, PREFERENCE_WORKSPACE,
                                                        ctypes.byref(size), 8), "workspace")

    def put(self, attribute, value):
        ok(self.lt.cublasLtMatmulDescSetAttribute(self.operation, attribute, ctypes.byref(value),
                                                  ctypes.sizeof(value)), f"attribute {attribute}")

    def layout(self, dtype, rows, columns):
        made = ctypes.c_void_p()
        ok(self.lt.cublasLtMatrixLayoutCreate(ctypes.byref(made), dtype, ctypes.c_uint64(rows),
                                              ctypes.c_uint64(columns), ctypes.c_int64(rows)), "layout")
        return made

    def ask(self, m, n, k):
        """(number of the tile, split), or None."""
        a, b, d = self.layout(self.dtype, k, n), self.layout(self.dtype, k, m), self.layout(R_16BF, n, m)
        result, found = Heuristic(), ctypes.c_int(0)
        status = self.lt.cublasLtMatmulAlgoGetHeuristic(self.handle, self.operation, a, b, d, d, self.preference,
                                                        1, ctypes.byref(result), ctypes.byref(found))
        for layout in (a, b, d):
            self.lt.cublasLtMatrixLayoutDestroy(layout)
        if status or not found.value:
            return None
        return tuple(self.told(result, attribute) for attribute in (ALGORITHM_TILE, ALGORITHM_SPLIT))

    def told(self, result, attribute):
        value, written = ctypes.c_uint64(0), ctypes.c_size_t(0)
        ok(self.lt.cublasLtMatmulAlgoConfigGetAttribute(ctypes.byref(result.algorithm), attribute,
                                                        ctypes.byref(value), 4, ctypes.byref(written)), "answer")
        return value.value


def answers(shapes, kind):
    questions = Questions(kind)
    return [(shape, questions.ask(*shape)) for shape in shapes]


def tiles_in(header):
    """{number: (m, n)} of CUBLASLT_MATMUL_TILE_*."""
    with open(header, encoding="utf-8") as file:
        found = re.findall(r"CUBLASLT_MATMUL_TILE_(\d+)x(\d+)\s*=\s*(\d+)", file.read())
    return {int(number): (int(m), int(n)) for m, n, number in found}


def provenance():
    import torch
    properties = torch.cuda.get_device_properties(0)
    return {"format": "foretoken cublas choices 1", "program": "cublas_choices.py 1", "gpu": properties.name,
            "sm_count": properties.multi_processor_count, "cublas": library().cublasLtGetVersion(),
            "torch": torch.__version__, "date": datetime.date.today().isoformat()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=["bf16", "fp8"], required=True)
    parser.add_argument("--shapes", required=True, help="lines m,n,k; plain or gzip")
    parser.add_argument("--out", required=True)
    parser.add_argument("--header", default="/usr/local/cuda/include/cublasLt.h")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    tiles = tiles_in(arguments.header)
    with (gzip.open if arguments.shapes.endswith(".gz") else open)(arguments.shapes, "rt") as file:
        shapes = [tuple(int(x) for x in line.split(",")[:3]) for line in file if line[0].isdigit()]
    context = multiprocessing.get_context("spawn")  # a forked process cannot use the GPU
    with context.Pool(arguments.jobs) as pool:
        parts = pool.starmap(answers, [(shapes[i::arguments.jobs], arguments.kind)
                                       for i in range(arguments.jobs)])
    told = sorted(answer for part in parts for answer in part if answer[1])
    rows = [(*shape, *tiles[tile], split) for shape, (tile, split) in told if tile in tiles]
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        for key, value in provenance().items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["m", "n", "k", "tile_m", "tile_n", "split_k"])
        writer.writerows(rows)
    print(f"{arguments.kind}: {len(rows)} answers for {len(shapes)} shapes")


if __name__ == "__main__":
    main()

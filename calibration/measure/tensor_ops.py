#!/usr/bin/env python3
"""Counts the tensor-core operations of GEMM launches with Nsight Compute: all SMs, and the busiest.

Runs `foretoken-measure FAMILY --once` under ncu and joins the counters to its rows. Needs the right
to read performance counters (root, or NVreg_RestrictProfilingToAdminUsers=0). Clocks are left alone.
"""

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile

OPERATIONS = {"gemm_bf16": "sm__ops_path_tensor_src_bf16_dst_fp32",
              "gemm_fp8": "sm__ops_path_tensor_src_fp8"}
OTHERS = ["sm__cycles_active.max", "sm__cycles_active.avg", "dram__bytes_read.sum",
          "lts__t_sectors_op_read.sum", "gpu__time_duration.sum"]
KEPT = ["kernel", "framework", "kernel_source", "m", "n", "k", "dtype", "fast_accumulation",
        "kernel_name", "grid", "block", "cluster", "tile_m", "tile_n", "tile_k", "stages",
        "split_k_plan", "split_k_name"]


def profile(program, family, limit, metrics):
    """The rows of --once, its provenance lines, and ncu's rows, one a kernel in launch order."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["ncu", "--clock-control", "none", "--cache-control", "all",
                   "--profile-from-start", "off", "--csv", "--page", "raw", "--print-units", "base",
                   "--metrics", ",".join(metrics), program, family, "--once", "--limit", str(limit),
                   "--memory", "4", "--out", folder]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        with open(os.path.join(folder, family + ".csv"), encoding="utf-8") as file:
            lines = file.read().splitlines()
    text = result.stdout
    table = text[text.find('"ID"'):] if '"ID"' in text else ""
    counters = list(csv.DictReader(io.StringIO(table)))[1:]  # the first row holds the units
    if not counters:
        sys.exit(f"ncu returned no counters:\n{text[-1500:]}\n{result.stderr[-1500:]}")
    notes = [line for line in lines if line.startswith("#")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return notes, rows, counters


def number(text):
    return float(text.replace(",", "")) if text not in ("", "n/a", "nan") else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="path of foretoken-measure")
    parser.add_argument("family", choices=sorted(OPERATIONS))
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    operations = OPERATIONS[arguments.family]
    metrics = [f"{operations}.{how}" for how in ("sum", "max", "min")] + OTHERS
    notes, rows, counters = profile(arguments.program, arguments.family, arguments.limit, metrics)
    kept = [column for column in KEPT if column in rows[0]]
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        for note in notes:
            if not note.startswith("# method"):
                file.write(note + "\n")
        file.write("# method: Nsight Compute, clocks not controlled, caches flushed; counters of "
                   "all kernels of one call are summed (max and min: of the kernel that has them)\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(kept + ["tensor_ops_total", "tensor_ops_max_sm", "tensor_ops_min_sm",
                                "sm_active_cycles_max", "sm_active_cycles_mean", "dram_read_bytes",
                                "l2_read_sectors", "ncu_time_us"])
        at = 0
        for row in rows:
            kernels = sum(name != "memset" for name in row["kernel_name"].split(" + "))
            mine = counters[at:at + kernels]
            at += kernels
            values = [sum(number(c[metric]) for c in mine) for metric in metrics]
            for i in (1, 2):
                values[i] = max((number(c[metrics[i]]) for c in mine), default=0.0)
            values[-1] /= 1000.0  # ns to us
            writer.writerow([row[column] for column in kept] + [f"{v:.10g}" for v in values])
    if at != len(counters):
        sys.exit(f"{len(counters)} kernels profiled, {at} expected: rows do not match")
    print(f"tensor_ops {arguments.family}: {len(rows)} launches")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Times a Stream-K product in Triton (bf16) over the grids that `foretoken select` names, and a few
beside them, against one CTA a tile and against splits of the depth, all with the same tile: what the
grid policies of kernels/tiles/stream_k.hpp are judged by.

The shapes are those whose tiles leave many units idle in the last round. `stream_k_plan.py` draws
them and asks `foretoken select` for the grids; this program measures them where the GPU is. The
stopwatch, the plain kernel and its splits are gemm_tiles_triton.py's. Every grid of every shape is
compared with PyTorch before anything of the shape is timed; shapes with a wrong one are counted and
left out.
"""

import argparse
import csv
import os

import torch
import triton
import triton.language as tl

import attention_torch
import gemm_tiles_triton as plain

COMPILE_SECONDS = 150
WORKSPACE_CTAS = 2048  # more than stream_k_plan.py asks for
COLUMNS = ["class", "m", "n", "k", "method", "block_m", "block_n", "block_k", "warps", "stages",
           "group_m", "split_k", "grid", "time_us", "low_us", "high_us", "launches",
           "sm_clock_mhz"]


@triton.jit(do_not_specialize=["rows", "slices", "group"])
def stream_k_kernel(a, b, c, parts, flags, rows, columns, depth, slices, group, M: tl.constexpr,
                    N: tl.constexpr, K: tl.constexpr):
    """c = a . b^T; all slices of all tiles dealt to the programs in equal runs. Who has a tile's
    first slice finishes it: it adds what the programs of the other slices put into `parts`, and
    takes their flags down again. Runs are dealt from the last program on, so that nobody waits for
    a program that starts later. The depth is a multiple of K."""
    programs = tl.num_programs(0)
    run = programs - 1 - tl.program_id(0)
    tiles_m = tl.cdiv(rows, M)
    tiles_n = tl.cdiv(columns, N)
    total = tiles_m * tiles_n * slices
    each = total // programs
    longer = total % programs
    at = run * each + tl.minimum(run, longer)
    end = at + each + (run < longer).to(tl.int32)
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    while at < end:
        tile = at // slices
        first = at - tile * slices
        last = tl.minimum(slices, end - tile * slices)
        group_size = group * tiles_n
        first_m = tile // group_size * group
        in_group = tl.minimum(tiles_m - first_m, group)
        tile_m = first_m + tile % group_size % in_group
        tile_n = tile % group_size // in_group
        row = tile_m * M + tl.arange(0, M)
        column = tile_n * N + tl.arange(0, N)
        inner = first * K + tl.arange(0, K)
        a_at = a + (row % rows)[:, None].to(tl.int64) * depth + inner[None, :]
        b_at = b + (column % columns)[None, :].to(tl.int64) * depth + inner[:, None]
        sums = tl.zeros([M, N], tl.float32)
        for _ in range(first, last):
            sums = tl.dot(tl.load(a_at), tl.load(b_at), sums)
            a_at += K
            b_at += K
        if first == 0:
            done = last
            partner = run + 1
            while done < slices:
                while tl.atomic_cas(flags + partner, 1, 0, sem="acquire") != 1:
                    pass
                sums += tl.load(parts + partner.to(tl.int64) * (M * N) + place,
                                cache_modifier=".cg")
                done += each + (partner < longer).to(tl.int32)
                partner += 1
            c_at = c + row[:, None].to(tl.int64) * columns + column[None, :]
            tl.store(c_at, sums.to(c.dtype.element_ty),
                     mask=(row < rows)[:, None] & (column < columns)[None, :])
        else:
            tl.store(parts + run.to(tl.int64) * (M * N) + place, sums, cache_modifier=".cg")
            tl.debug_barrier()
            tl.atomic_xchg(flags + run, 1, sem="release")
        at = tile * slices + last


class StreamK:
    """A tile on a shape, `grid` programs. Looks like gemm_tiles_triton's Candidate to a race."""
    flags = None  # one for every program, down between launches

    def __init__(self, shape, configuration, group, grid):
        self.shape, self.configuration = shape, configuration
        self.group, self.grid, self.split = group, grid, 1

    def launch(self, buffers, workspace):
        a, b, c = buffers
        m, n, k, warps, stages = self.configuration
        shape = self.shape
        return stream_k_kernel[(self.grid,)](
            a, b, c, workspace, StreamK.flags, shape.m, shape.n, shape.k, shape.k // k, self.group,
            M=m, N=n, K=k, num_warps=warps, num_stages=stages)

    def columns(self):
        return ["stream_k"] + list(self.configuration) + [self.group, 1, self.grid]


class Whole(plain.Candidate):
    """One CTA a tile and part of the depth, a second kernel to add the parts."""

    def columns(self):
        return (["split_k" if self.split > 1 else "data_parallel"] + list(self.configuration) +
                [self.group, self.split, self.tiles * self.split])


class Library(plain.Library):
    def columns(self):
        return ["cublas"] + [""] * 8


def read_plan(path):
    """(shape, configuration, group, [grid]) of each of its rows."""
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            configuration = tuple(int(row[name]) for name in
                                  ("block_m", "block_n", "block_k", "warps", "stages"))
            shape = (row["class"], int(row["m"]), int(row["n"]), int(row["k"]))
            yield shape, configuration, int(row["group_m"]), [int(g) for g in row["grids"].split()]


def methods_of(shape, configuration, group, grids):
    whole = [Whole(shape, configuration, group, split) for split in plain.SPLITS
             if split == 1 or (shape.k // configuration[2] >= 2 * split and
                               split * shape.m * shape.n <= plain.WORKSPACE_FLOATS)]
    return whole + [StreamK(shape, configuration, group, grid) for grid in grids]


class Check:
    """A small product whose edges cut tiles, against PyTorch, with grids that cut tiles anywhere."""

    def __init__(self, device):
        self.check = plain.Check(device)
        self.workspace = torch.empty(WORKSPACE_CTAS * 128 * 256, device=device)

    def is_right(self, configuration):
        check = self.check
        slices = check.shape.k // configuration[2]
        tiles = plain.Candidate(check.shape, configuration, 1, 1).tiles
        for group, grid in ((1, 1), (1, 3), (8, 5), (1, tiles), (8, 2 * tiles),
                            (1, max(1, tiles * slices * 3 // 7)), (4, 3 * tiles + 1)):
            if grid > min(tiles * slices, WORKSPACE_CTAS):
                continue
            for _ in range(2):  # the second launch finds the flags as the first left them
                check.c.zero_()
                StreamK(check.shape, configuration, group, grid).launch(
                    (check.a, check.b, check.c), self.workspace)
                if not plain.relative_error(check.c, check.expected) < 0.01:
                    return False
        return check.run(configuration) is not None


def compile_part(part, plan, device):
    """The first checks compile; what fails is counted when the timing process meets it again."""
    index, parts = (int(x) for x in part.split("/"))
    StreamK.flags = torch.zeros(WORKSPACE_CTAS, dtype=torch.int32, device=device)
    check = Check(device)
    for i, configuration in enumerate(sorted({c for _, c, _, _ in read_plan(plan)})):
        if i % parts == index:
            try:
                check.is_right(configuration)
            except Exception as error:
                print(configuration, repr(error)[:200])
    torch.cuda.synchronize()


def measure(bench, shape, cases):
    """Rows of one shape, and whether every result is right."""
    buffers = bench.buffers_of(shape)
    library = Library(shape)
    library.launch(buffers[0], bench.workspace)
    expected = buffers[0][2].float()
    everyone = []
    for case in cases:
        for method in methods_of(shape, *case):
            buffers[0][2].zero_()
            method.launch(buffers[0], bench.workspace)
            if not plain.relative_error(buffers[0][2], expected) < 0.01:
                print("wrong:", shape.m, shape.n, shape.k, method.columns(), flush=True)
                return [], False
            everyone.append(method)
    everyone.append(library)
    guesses = bench.screen(everyone, buffers, 2)
    clock = torch.cuda.clock_rate(bench.device)
    head = [shape.kind, shape.m, shape.n, shape.k]
    raced = bench.race(everyone, guesses, buffers)
    return [head + method.columns() + [f"{value:.4g}" for value in times[:3]] + [times[3], clock]
            for method, times in zip(everyone, raced)], True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, help="what stream_k_plan.py wrote")
    parser.add_argument("--out", default="stream_k.csv")
    parser.add_argument("--seconds", type=float, default=120, help="for timing, after compiling")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=int, default=min(32, os.cpu_count() or 1))
    parser.add_argument("--compile-part", default="")
    arguments = parser.parse_args()
    device = torch.device("cuda", 0)
    if arguments.compile_part:
        compile_part(arguments.compile_part, arguments.plan, device)
        return
    plain.compile_all(arguments.cores, __file__, "--plan", arguments.plan, seconds=COMPILE_SECONDS)
    StreamK.flags = torch.zeros(WORKSPACE_CTAS, dtype=torch.int32, device=device)
    header = attention_torch.provenance(device, arguments.seed)
    header.update({"format": "foretoken stream k 1", "program": "stream_k_triton.py 1",
                   "triton": triton.__version__, "method":
                   "CUDA graph of `launches` launches on different buffers, L2 swept before each of 4 or "
                   "5 replays in shuffled rounds; (event time - graph head) / launches; median, "
                   "lowest, highest; a split's time holds the kernel that adds the parts; every grid of "
                   "every shape checked against PyTorch within 1 % (relative norm)"})
    header.pop("lists", None)
    check = Check(device)
    right, failed, failure = set(), 0, ""
    for configuration in sorted({c for _, c, _, _ in read_plan(arguments.plan)}):
        try:
            if check.is_right(configuration):
                right.add(configuration)
            else:
                failed, failure = failed + 1, failure or f"{configuration} is wrong"
        except Exception as error:
            failed, failure = failed + 1, failure or repr(error)[:300]
    print(f"{len(right)} configurations right, {failed} failed {failure}", flush=True)
    del check
    cases = {}
    for shape, configuration, group, grids in read_plan(arguments.plan):
        if configuration in right:
            cases.setdefault(shape, []).append((configuration, group, grids))
    bench = plain.TileBench(device, arguments.seed)
    plain.write_shapes(bench, arguments.out, header, COLUMNS, list(cases), arguments.seconds,
                       lambda shape: measure(bench, plain.Shape(*shape), cases[shape]))


if __name__ == "__main__":
    main()

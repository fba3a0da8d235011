#!/usr/bin/env python3
"""Times a plain tiled matrix product in Triton (bf16 or fp8, both operands contiguous along the depth) with
every tile, warp count, pipeline depth, GROUP_M and split of the depth that fits, and cuBLAS beside it:
what the choice of a tile without tuning is judged by.

Each shape is timed twice. First every candidate once or twice (`screen_us`: events around launches
that wait in the queue), then those within a quarter of the best, 80 at most, by the method of
foretoken-measure (`time_us`). All operands are cold. Every configuration is compared with PyTorch on a small
product before anything is timed, the best of every shape again on that shape. Shapes come in turns
of classes, so that a run cut short still covers all. FILE.csv gets the times,
FILE.configurations.csv registers, spills and shared memory of each kernel.
"""

import argparse
import csv
import functools
import itertools
import math
import os
import random
import statistics
import subprocess
import sys
import time

import torch
import triton
import triton.language as tl

import attention_torch

SHARED_BYTES = 232448  # of one CTA on Hopper; more is refused and counted
GROUPS, MORE_GROUPS, SPLITS = (1, 8), (2, 4, 16), (1, 2, 4, 8)
NEAR, FINALISTS, EXTENDED = 1.25, 80, 6
CHUNK = 48  # candidates enqueued behind one wait: less than the queue holds
WORKSPACE_FLOATS = 100_000_000
COMPILE_SECONDS, LOAD_SECONDS = 170, 60
OPERANDS = {"bf16": torch.bfloat16, "fp8": torch.float8_e4m3fn}  # the result is bf16
ERROR_MAX = {"bf16": 0.01, "fp8": 0.02}  # relative norm; tensor cores add e4m3 products up in 14 bits
COLUMNS = ["class", "m", "n", "k", "library", "block_m", "block_n", "block_k", "warps", "stages",
           "group_m", "split_k", "screen_us", "time_us", "low_us", "high_us", "launches",
           "sm_clock_mhz"]


@triton.jit(do_not_specialize=["rows", "steps", "group"])
def product_kernel(a, b, c, rows, columns, depth, steps, group, M: tl.constexpr, N: tl.constexpr,
                   K: tl.constexpr):
    """c = a . b^T; program (i, part) sums `steps` slices of the depth of one tile and stores them in
    the part's own matrix. The depth is a multiple of K."""
    pid, part = tl.program_id(0), tl.program_id(1)
    tiles_m = tl.cdiv(rows, M)
    tiles_n = tl.cdiv(columns, N)
    group_size = group * tiles_n
    first_m = pid // group_size * group
    in_group = min(tiles_m - first_m, group)
    tile_m = first_m + pid % group_size % in_group
    tile_n = pid % group_size // in_group
    row = (tile_m * M + tl.arange(0, M)) % rows
    column = (tile_n * N + tl.arange(0, N)) % columns
    first = part * steps
    last = min(first + steps, depth // K)
    inner = first * K + tl.arange(0, K)
    a_at = a + row[:, None].to(tl.int64) * depth + inner[None, :]
    b_at = b + column[None, :].to(tl.int64) * depth + inner[:, None]
    total = tl.zeros([M, N], tl.float32)
    for step in range(first, last):
        total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        a_at += K
        b_at += K
    row = tile_m * M + tl.arange(0, M)
    column = tile_n * N + tl.arange(0, N)
    c_at = c + (part.to(tl.int64) * rows + row[:, None]) * columns + column[None, :]
    tl.store(c_at, total.to(c.dtype.element_ty),
             mask=(row < rows)[:, None] & (column < columns)[None, :])


@triton.jit(do_not_specialize=["split"])
def sum_kernel(parts, c, count, split, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    total = tl.zeros([BLOCK], tl.float32)
    for part in range(split):
        total += tl.load(parts + part.to(tl.int64) * count + place, mask=inside, other=0.0)
    tl.store(c + place, total.to(c.dtype.element_ty), mask=inside)


def pool_of_configurations(dtype):
    """(M, N, K, warps, stages): accumulators in at most half of the registers (no 256 x 256), stages
    that fit; the shallowest slices only for large tiles, the deepest only for small ones. Slices of
    fp8 have the bytes of those of bf16."""
    sides, size = (16, 32, 64, 128, 256), OPERANDS[dtype].itemsize
    for m, n, k_bytes, warps, stages in itertools.product(sides, sides, (64, 128, 256, 512), (4, 8),
                                                          (2, 3, 4, 6)):
        k, stage_bytes = k_bytes // size, (m + n) * k_bytes
        threads, accumulators = 32 * warps, m * n // (32 * warps)
        fits = (stages * stage_bytes <= SHARED_BYTES and accumulators <= 128
                and (accumulators + 26) * threads <= 65536)  # as ptxas asks for wgmma
        useful = (m * n >= 512 and (k_bytes > 64 or m * n >= 64 * 64)
                  and (k_bytes < 512 or m * n <= 128 * 128)
                  and (warps < 8 or m * n >= 64 * 64)
                  and (stages < 6 or stage_bytes <= 20 * 1024)
                  and (stages > 2 or stage_bytes >= 32 * 1024))
        if fits and useful:
            yield m, n, k, warps, stages


def ceil_div(a, b):
    return (a + b - 1) // b


class Shape:
    def __init__(self, kind, m, n, k):
        self.kind, self.m, self.n, self.k = kind, m, n, k
        self.flops = 2.0 * m * n * k


def llama_layers():
    """(output, input) of the four products: Llama-3 8B, and 70B on 1 and 8 GPUs."""
    small = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336)]
    large = [(10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672)]
    part = [(1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584)]
    return small, large, part


def draw_shapes(seed):
    draw = random.Random(seed)
    small, large, part = llama_layers()
    def any_side():
        return 128 * draw.randint(1, 64)
    randoms = [Shape("random", any_side(), any_side(), any_side()) for _ in range(200)]
    llama = [Shape("llama", m, n, k) for n, k in small + part for m in (256, 512, 1024, 2048, 4096)]
    llama += [Shape("llama", m, n, k) for n, k in large for m in (256, 1024)]
    decode = [Shape("decode", m, n, k) for n, k in small + large + part for m in (1, 8, 16, 32, 64, 128)]
    decode += [Shape("decode", draw.choice([1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128]), any_side(),
                     any_side()) for _ in range(60)]
    classes = [randoms, llama, decode]
    for shapes in classes:
        draw.shuffle(shapes)
    placed = [((i + 0.5) / len(shapes), c, shape) for c, shapes in enumerate(classes)
              for i, shape in enumerate(shapes)]
    return [shape for _, _, shape in sorted(placed, key=lambda p: p[:2])]


class Candidate:
    """A configuration with a group and a split on a shape."""

    def __init__(self, shape, configuration, group, split):
        self.shape, self.configuration = shape, configuration
        self.group, self.split = group, split
        m, n, k, _, _ = configuration
        self.tiles = ceil_div(shape.m, m) * ceil_div(shape.n, n)
        self.steps = ceil_div(shape.k // k, split)

    def launch(self, buffers, workspace):
        a, b, c = buffers
        shape = self.shape
        m, n, k, warps, stages = self.configuration
        target = c if self.split == 1 else workspace
        kernel = product_kernel[(self.tiles, self.split)](
            a, b, target, shape.m, shape.n, shape.k, self.steps, self.group, M=m, N=n, K=k,
            num_warps=warps, num_stages=stages)
        if self.split > 1:
            count = shape.m * shape.n
            sum_kernel[(ceil_div(count, 1024),)](workspace, c, count, self.split, BLOCK=1024,
                                                 num_warps=4)
        return kernel

    def columns(self):
        return list(self.configuration) + [self.group, self.split]


@functools.cache
def unit_scale(device):
    return torch.ones((), device=device)


class Library:
    """cuBLAS on a shape."""

    def __init__(self, shape):
        self.shape, self.split = shape, 1

    def launch(self, buffers, _):
        a, b, c = buffers
        shape = self.shape
        a, b, c = a.view(shape.m, shape.k), b.view(shape.n, shape.k).t(), c.view(shape.m, shape.n)
        if a.dtype == torch.bfloat16:
            torch.mm(a, b, out=c)
        else:
            one = unit_scale(a.device)
            torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=True, out=c)

    def columns(self):
        return [""] * 7


def candidates_of(shape, configurations, sm_count):
    """All that fit the shape. Tiles that cannot come near are left out: far taller than the product
    of a few rows, or tiny ones for a large product (they would read it tens of times over)."""
    smallest = 4096 if shape.flops > 1.5e11 else 2048 if shape.flops > 2e10 else 0
    tallest = max(64, 2 << max(shape.m - 1, 0).bit_length())
    for configuration in configurations:
        m, n, k, _, _ = configuration
        if shape.k % k != 0 or m > tallest or (shape.m >= 128 and m * n < smallest):
            continue
        tiles_m, tiles_n = ceil_div(shape.m, m), ceil_div(shape.n, n)
        for split in SPLITS:
            slices = shape.k // k
            if split > 1 and (tiles_m * tiles_n * split > 2.5 * sm_count or slices < 2 * split
                              or ceil_div(slices, ceil_div(slices, split)) < split
                              or split * shape.m * shape.n > WORKSPACE_FLOATS):
                continue
            for group in GROUPS if tiles_m > 1 and tiles_n > 1 else GROUPS[:1]:
                yield Candidate(shape, configuration, group, split)


def relative_error(got, expected):
    return ((got.float() - expected.float()).norm() /
            expected.float().norm().clamp_min(1e-20)).item()


class Check:
    """A small product whose edges cut tiles: each configuration must get it right."""

    def __init__(self, device, dtype="bf16"):
        self.shape, self.error_max = Shape("check", 200, 400, 1024), ERROR_MAX[dtype]
        generator = torch.Generator(device).manual_seed(7)
        self.a, self.b = (torch.randn(rows * self.shape.k, generator=generator, device=device)
                          .to(OPERANDS[dtype]) for rows in (self.shape.m, self.shape.n))
        self.c = torch.empty(self.shape.m * self.shape.n, device=device, dtype=torch.bfloat16)
        self.workspace = torch.empty(4 * self.c.numel(), device=device)
        self.expected = (self.a.float().view(self.shape.m, -1) @
                         self.b.float().view(self.shape.n, -1).t()).flatten()

    def run(self, configuration):
        """Registers, spills and shared memory of the kernel, or None if a result is wrong."""
        facts = None
        for group, split in ((1, 1), (8, 1), (1, 4)):
            self.c.zero_()
            candidate = Candidate(self.shape, configuration, group, split)
            kernel = candidate.launch((self.a, self.b, self.c), self.workspace)
            facts = facts or [kernel.n_regs, kernel.n_spills, kernel.metadata.shared]
            if not relative_error(self.c, self.expected) < self.error_max:
                return None
        return facts


def compile_part(part, device, dtype):
    index, parts = (int(x) for x in part.split("/"))
    check = Check(device, dtype)
    for i, configuration in enumerate(pool_of_configurations(dtype)):
        if i % parts == index:
            try:
                check.run(configuration)
            except Exception as error:  # counted when the timing process meets it again
                print(configuration, repr(error)[:200])
    torch.cuda.synchronize()


def compile_all(cores, program=__file__, *arguments, seconds=COMPILE_SECONDS):
    """Fills Triton's cache from many processes; one that hangs does not stop the run."""
    start = time.monotonic()
    workers = [subprocess.Popen([sys.executable, program, *arguments, "--compile-part",
                                 f"{i}/{cores}"]) for i in range(cores)]
    for worker in workers:
        try:
            worker.wait(timeout=max(1.0, seconds - (time.monotonic() - start)))
        except subprocess.TimeoutExpired:
            worker.kill()
    print(f"compiled in {time.monotonic() - start:.0f} s", flush=True)


class TileBench(attention_torch.Bench):
    """The stopwatch of attention_torch.py; its pool holds the operands."""

    def __init__(self, device, seed, dtype="bf16"):
        super().__init__(device)
        self.dtype = dtype
        if dtype != "bf16":
            pieces = self.pool.split(500_000_000)
            self.pool = torch.cat([piece.to(OPERANDS[dtype]) for piece in pieces])
        self.results = torch.empty(1_500_000_000, dtype=torch.bfloat16, device=device)
        self.workspace = torch.empty(WORKSPACE_FLOATS, device=device)
        self.sm_count = torch.cuda.get_device_properties(device).multi_processor_count
        self.draw = random.Random(seed)
        self.launch_s = 40e-6
        with torch.cuda.stream(self.stream):
            self.event_head_us = self.measure_event_head()

    def measure_event_head(self):
        """What two events around launches in a full queue take beside the launches."""
        def once(count):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(8_000_000)
            begin.record()
            for _ in range(count):
                self.sweep[:1].add_(0)
            end.record()
            self.stream.synchronize()
            return begin.elapsed_time(end) * 1000
        once(33)
        one, many = (statistics.median(once(count) for _ in range(15)) for count in (1, 33))
        return max(0.0, one - (many - one) / 32)

    def buffers_of(self, shape):
        """Operands for launches that follow one another: together more than four times L2."""
        def padded(elements):
            return ceil_div(elements, 512) * 512
        a, b, c = shape.m * shape.k, shape.n * shape.k, shape.m * shape.n
        stride = padded(a) + padded(b)
        wanted = ceil_div(4 * self.sweep.numel() * 4 // 3, self.pool.itemsize * stride)
        count = max(1, min(wanted, 400, self.pool.numel() // stride,
                           self.results.numel() // padded(c)))
        pieces = []
        for i in range(count):
            at = i * stride
            out = i * padded(c)
            pieces.append((self.pool[at:at + a], self.pool[at + padded(a):at + padded(a) + b],
                           self.results[out:out + c]))
        return pieces

    def screen(self, candidates, buffers, launches):
        """Microseconds of a launch of each. A wait on the GPU lets the host run ahead."""
        times, at = [], 0
        for begin_index in range(0, len(candidates), CHUNK):
            chunk = candidates[begin_index:begin_index + CHUNK]
            kernels = sum(launches * (2 if c.split > 1 else 1) for c in chunk)
            for _ in range(3):
                events = []
                host = time.monotonic()
                waits = kernels if launches > 1 else min(kernels, 8)  # long kernels fill the queue
                torch.cuda._sleep(int(1.98e9 * 1.3 * self.launch_s * waits))
                for candidate in chunk:
                    pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                    pair[0].record()
                    for _ in range(launches):
                        candidate.launch(buffers[at % len(buffers)], self.workspace)
                        at += 1
                    pair[1].record()
                    events.append(pair)
                was_ahead = not events[0][0].query()
                host = time.monotonic() - host
                self.stream.synchronize()
                if was_ahead or launches == 1:
                    break
                self.launch_s = min(120e-6, max(self.launch_s, 1.2 * host / kernels))
            times += [(a.elapsed_time(b) * 1000 - self.event_head_us) / launches for a, b in events]
        return times

    def race(self, candidates, guesses, buffers):
        """(median, lowest, highest, launches) of each: graphs in shuffled rounds."""
        candidates[-1].launch(buffers[0], self.workspace)  # cuBLAS prepares outside a capture
        graphs, at = [], 0
        for candidate, guess in zip(candidates, guesses):
            launches = max(1, min(12, math.ceil(120 / max(guess, 1.0))))
            offset = at
            graphs.append((self.capture(
                lambda i, c=candidate, o=offset: c.launch(buffers[(o + i) % len(buffers)],
                                                          self.workspace), launches, True), launches))
            at += launches
        rounds = 5 if max(guesses) < 200 else 4
        times = [[] for _ in graphs]
        for graph, _ in graphs:
            graph.replay()
        for _ in range(rounds):
            order = list(range(len(graphs)))
            self.draw.shuffle(order)
            self.stream.synchronize()
            time.sleep(attention_torch.REST_S)
            events = []
            for i in order:
                self.sweep.max()
                pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                pair[0].record()
                graphs[i][0].replay()
                pair[1].record()
                events.append((i, pair))
            self.stream.synchronize()
            for i, (begin, end) in events:
                times[i].append((begin.elapsed_time(end) * 1000 - self.graph_head_us) /
                                graphs[i][1])
        return [(statistics.median(t), min(t), max(t), launches)
                for t, (_, launches) in zip(times, graphs)]

    def measure(self, shape, configurations):
        """Rows of one shape, and whether the best candidate's result is right."""
        buffers = self.buffers_of(shape)
        candidates = list(candidates_of(shape, configurations, self.sm_count))
        self.draw.shuffle(candidates)
        size = self.pool.itemsize
        work_us = max(shape.flops * size / 12e8, size * (shape.m + shape.n) * shape.k / 4e6)
        screened = self.screen(candidates, buffers, 2 if work_us < 60 else 1)
        order = sorted(range(len(candidates)), key=screened.__getitem__)
        best = screened[order[0]]
        finalists = [i for i in order if screened[i] <= NEAR * best][:FINALISTS]
        extended = []
        for i in finalists:  # other groups for the best tiles
            c = candidates[i]
            if c.configuration not in extended and len(extended) < EXTENDED and c.group in GROUPS \
                    and ceil_div(shape.m, c.configuration[0]) > 1 \
                    and ceil_div(shape.n, c.configuration[1]) > 1:
                extended.append(c.configuration)
                for group in MORE_GROUPS:
                    finalists.append(len(candidates))
                    candidates.append(Candidate(shape, c.configuration, group, c.split))
                    screened.append(screened[i])
        everyone = [candidates[i] for i in finalists] + [Library(shape)]
        guesses = [screened[i] for i in finalists] + [best]
        raced = self.race(everyone, guesses, buffers)
        clock = torch.cuda.clock_rate(self.device)
        rows, precise = [], dict(zip(finalists, raced))
        head = [shape.kind, shape.m, shape.n, shape.k]

        def figures(values):
            return [f"{v:.4g}" for v in values[:3]] + [values[3], clock]
        rows.append(head + ["cublas"] + everyone[-1].columns() + [""] + figures(raced[-1]))
        for i in sorted(range(len(candidates)), key=lambda i: candidates[i].columns()):
            screen = f"{screened[i]:.4g}" if candidates[i].group in GROUPS else ""
            tail = figures(precise[i]) if i in precise else [""] * 5
            rows.append(head + ["triton"] + candidates[i].columns() + [screen] + tail)
        winner = everyone[min(range(len(finalists)), key=lambda i: raced[i][0])]
        winner.launch(buffers[0], self.workspace)
        got = buffers[0][2].clone()
        Library(shape).launch(buffers[0], self.workspace)
        return rows, relative_error(got, buffers[0][2]) < ERROR_MAX[self.dtype]


def load_configurations(device, path, header, dtype):
    """Those that compile and are right; writes what each kernel takes of an SM."""
    check, right, wrong, failed, failure = Check(device, dtype), [], 0, 0, ""
    start = time.monotonic()
    with open(path, "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["block_m", "block_n", "block_k", "warps", "stages", "registers", "spills",
                         "shared_bytes"])
        for configuration in pool_of_configurations(dtype):
            if time.monotonic() - start > LOAD_SECONDS:  # they were not compiled in time
                failed, failure = failed + 1, failure or "out of time"
                continue
            try:
                facts = check.run(configuration)
            except Exception as error:  # does not compile, or too much shared memory
                failed, failure = failed + 1, failure or repr(error)[:300]
                continue
            if facts is None:
                wrong += 1
                continue
            writer.writerow(list(configuration) + facts)
            right.append(configuration)
    print(f"{len(right)} configurations, {wrong} wrong, {failed} failed {failure}", flush=True)
    return right


def write_shapes(bench, path, header, columns, shapes, seconds, measure):
    """A file of what `measure` gives of each shape: its rows, and whether results are right."""
    start, done, wrong, failed, failure = time.monotonic(), 0, 0, 0, ""
    with torch.cuda.stream(bench.stream), torch.no_grad(), open(path, "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for shape in shapes:
            if time.monotonic() - start > seconds:
                break
            try:
                rows, is_right = measure(shape)
            except Exception as error:
                failed, failure = failed + 1, failure or repr(error)[:500]
                continue
            if not is_right:
                wrong += 1
                continue
            writer.writerows(rows)
            file.flush()
            done += 1
            if done % 20 == 0:
                print(f"{done} shapes, {time.monotonic() - start:.0f} s", flush=True)
    print(f"{path}: {done} shapes of {len(shapes)}, {wrong} wrong, {failed} failed {failure}; "
          f"{time.monotonic() - start:.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="gemm_tiles.csv")
    parser.add_argument("--seconds", type=float, default=300, help="for timing, after compiling")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=int, default=min(32, os.cpu_count() or 1))
    parser.add_argument("--dtype", choices=OPERANDS, default="bf16")
    parser.add_argument("--compile-part", default="")
    arguments = parser.parse_args()
    if arguments.compile_part:
        compile_part(arguments.compile_part, torch.device("cuda", 0), arguments.dtype)
        return
    compile_all(arguments.cores, __file__, "--dtype", arguments.dtype)
    device = torch.device("cuda", 0)
    start = time.monotonic()
    header = attention_torch.provenance(device, arguments.seed)
    header.update({"format": "foretoken gemm tiles 1", "program": "gemm_tiles_triton.py 1",
                   "dtype": arguments.dtype, "triton": triton.__version__, "method":
                   "screen_us: every candidate, 1 or 2 launches between events; time_us: candidates "
                   "within 25 % of the best, CUDA graph of `launches` launches on different buffers, L2 "
                   "swept before each of 4 or 5 replays in shuffled rounds; (event time - graph "
                   "head) / launches; median, lowest, highest; a split's time holds the kernel that adds the "
                   "parts; every configuration checked against PyTorch within "
                   f"{100 * ERROR_MAX[arguments.dtype]:g} % (relative norm)"})
    header.pop("lists", None)
    configurations = load_configurations(
        device, arguments.out.removesuffix(".csv") + ".configurations.csv", header,
        arguments.dtype)
    bench = TileBench(device, arguments.seed, arguments.dtype)
    print(f"ready after {time.monotonic() - start:.0f} s; head of a graph {bench.graph_head_us:.2f} us, of "
          f"events {bench.event_head_us:.2f} us", flush=True)
    write_shapes(bench, arguments.out, header, COLUMNS, draw_shapes(arguments.seed),
                 arguments.seconds, lambda shape: bench.measure(shape, configurations))


if __name__ == "__main__":
    main()

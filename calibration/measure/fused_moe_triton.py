#!/usr/bin/env python3
"""Times a fused mixture-of-experts layer written in Triton, by the method of foretoken-measure.

A layer is what serving frameworks launch: sort the assignments by expert and pad each expert's to
whole tiles (three small kernels), the gate-up product, SiLU and multiply, the down product with the
router's weights, and the sum over the top k; fp8 (one scale a tensor) quantises before each product.
Every tenth layer (of up to 512 tokens) and every configuration are compared with plain PyTorch
before they are timed. FILE.csv is in the dataset format, with the configuration that serving
frameworks fall back to; --configuration-seconds adds FILE.configurations.csv with many
configurations a problem (tiles, GROUP_M, split-K, warps, stages), for dispatch.
"""

import argparse
import csv
import itertools
import math
import random
import statistics
import time

import torch
import triton
import triton.language as tl

import attention_torch

FP8 = torch.float8_e4m3fn
# (hidden, intermediate of one expert, experts, top k): public models' configs, and shapes between.
MODELS = [(4096, 14336, 8, 2), (2048, 768, 128, 8), (4096, 1536, 128, 8), (2048, 1024, 64, 8),
          (7168, 2048, 256, 8), (2048, 1408, 64, 6), (5120, 1536, 160, 6), (4096, 6400, 16, 2),
          (2048, 512, 512, 10), (3584, 2560, 64, 8), (2880, 2880, 32, 4), (6144, 10752, 16, 4),
          (1536, 512, 40, 8), (4096, 1408, 128, 8), (5120, 8192, 16, 1), (3072, 1024, 256, 8)]
TOKENS = [1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 4096, 8192]


# Sizes of the problem are no compile-time constants: a variant for each would take an hour to build.
@triton.jit(do_not_specialize=["assignments"])
def count_kernel(ids, offsets, cursors, assignments, experts, BLOCK: tl.constexpr,
                 EXPERTS: tl.constexpr, TILE: tl.constexpr):
    """One program: assignments of each expert, rounded up to tiles, as running offsets."""
    lane = tl.arange(0, BLOCK)
    counts = tl.zeros([EXPERTS], tl.int32)
    for start in range(0, assignments, BLOCK):
        valid = start + lane < assignments
        expert = tl.load(ids + start + lane, mask=valid, other=0)
        counts += tl.histogram(expert, EXPERTS, mask=valid)
    padded = (counts + TILE - 1) // TILE * TILE
    ends = tl.cumsum(padded, 0)
    which = tl.arange(0, EXPERTS)
    tl.store(cursors + which, ends - padded)
    tl.store(offsets + which, ends)


@triton.jit(do_not_specialize=["length", "assignments"])
def prepare_kernel(offsets, rows, tile_experts, length, assignments, BLOCK: tl.constexpr,
                   EXPERTS: tl.constexpr, TILE: tl.constexpr):
    """Rows start as padding; each tile learns its expert (or that nobody needs it)."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(rows + place, tl.full([BLOCK], assignments, tl.int32), mask=place < length)
    ends = tl.load(offsets + tl.arange(0, EXPERTS))
    first = tl.program_id(0) * (BLOCK // TILE)
    for i in range(BLOCK // TILE):
        begin = (first + i) * TILE
        expert = tl.sum((ends <= begin).to(tl.int32), 0)
        tl.store(tile_experts + first + i, expert, mask=begin < length)


@triton.jit(do_not_specialize=["assignments"])
def scatter_kernel(ids, cursors, rows, assignments, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    valid = place < assignments
    expert = tl.load(ids + place, mask=valid, other=0)
    target = tl.atomic_add(cursors + expert, 1, mask=valid)
    tl.store(rows + target, place, mask=valid)


@triton.jit(do_not_specialize=["assignments", "tiles_m", "experts", "topk", "group", "split"])
def product_kernel(a, b, c, rows, tile_experts, gates, scale, columns, depth, assignments, tiles_m,
                   experts, topk, group, split, GATED: tl.constexpr, M: tl.constexpr,
                   N: tl.constexpr, K: tl.constexpr, ADDS: tl.constexpr, EVEN: tl.constexpr):
    """c[row] = a[row // topk] . b[expert]^T for one tile of rows of one expert; parts of the depth
    are added up atomically."""
    pid, part = tl.program_id(0), tl.program_id(1)
    tiles_n = tl.cdiv(columns, N)
    group_size = group * tiles_n
    first_m = pid // group_size * group
    in_group = min(tiles_m - first_m, group)
    tile_m = first_m + pid % group_size % in_group
    tile_n = pid % group_size // in_group
    expert = tl.load(tile_experts + tile_m)
    if expert >= experts:
        return
    row = tl.load(rows + tile_m * M + tl.arange(0, M))
    valid = row < assignments
    column = (tile_n * N + tl.arange(0, N)) % columns
    inner = part * K + tl.arange(0, K)
    a_at = a + (row // topk)[:, None].to(tl.int64) * depth + inner[None, :]
    b_at = b + expert.to(tl.int64) * columns * depth + column[None, :].to(tl.int64) * depth \
        + inner[:, None]
    total = tl.zeros([M, N], tl.float32)
    for start in range(0, tl.cdiv(depth, K * split)):
        if EVEN:
            x = tl.load(a_at, mask=valid[:, None], other=0.0)
            y = tl.load(b_at)
        else:
            left = depth - start * K * split
            x = tl.load(a_at, mask=valid[:, None] & (inner < left)[None, :], other=0.0)
            y = tl.load(b_at, mask=(inner < left)[:, None], other=0.0)
        total = tl.dot(x, y, total)
        a_at += K * split
        b_at += K * split
    total *= scale
    if GATED:
        total *= tl.load(gates + row, mask=valid, other=0.0)[:, None]
    column = tile_n * N + tl.arange(0, N)
    c_at = c + row[:, None].to(tl.int64) * columns + column[None, :]
    inside = valid[:, None] & (column < columns)[None, :]
    if not ADDS:
        tl.store(c_at, total.to(c.dtype.element_ty), mask=inside)
    else:
        tl.atomic_add(c_at, total.to(c.dtype.element_ty), mask=inside, sem="relaxed")


@triton.jit
def silu_and_mul_kernel(x, y, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < width
    gate = tl.load(x + row * 2 * width + place, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(x + row * 2 * width + width + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + row * width + place, (gate * tl.sigmoid(gate) * up).to(y.dtype.element_ty),
             mask=inside)


@triton.jit(do_not_specialize=["topk"])
def sum_kernel(x, y, width, topk, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < width
    total = tl.zeros([BLOCK], tl.float32)
    for i in range(topk):
        total += tl.load(x + (row * topk + i) * width + place, mask=inside, other=0.0)
    tl.store(y + row * width + place, total.to(y.dtype.element_ty), mask=inside)


@triton.jit
def quantise_kernel(x, y, count, factor, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + place, mask=place < count, other=0.0).to(tl.float32) * factor
    value = tl.minimum(tl.maximum(value, -448.0), 448.0)
    tl.store(y + place, value.to(y.dtype.element_ty), mask=place < count)


class Configuration:
    def __init__(self, m, n, k, group, split, warps, stages):
        self.m, self.n, self.k, self.group = m, n, k, group
        self.split, self.warps, self.stages = split, warps, stages

    def columns(self):
        return [self.m, self.n, self.k, self.group, self.split, self.warps, self.stages]


CONFIGURATION_COLUMNS = ["block_m", "block_n", "block_k", "group_m", "split_k", "warps", "stages"]


def default_configuration(tokens, experts, is_fp8):
    """What vLLM and SGLang use where no tuned table is there (facts of their get_default_config)."""
    if is_fp8:
        return (Configuration(64, 128, 128, 1, 1, 4, 4) if tokens <= experts
                else Configuration(128, 256, 128, 32, 1, 8, 4))
    return (Configuration(16, 32, 64, 1, 1, 4, 3) if tokens <= experts
            else Configuration(64, 64, 32, 8, 1, 4, 3))


def pool_of_configurations(is_fp8):
    tiles = [(16, 32, 64, 4), (16, 64, 128, 4), (16, 128, 64, 4), (16, 128, 128, 4),
             (32, 64, 64, 4), (32, 128, 64, 4), (64, 64, 64, 4), (64, 128, 64, 4),
             (64, 128, 64, 8), (64, 256, 64, 8), (128, 64, 64, 4), (128, 128, 64, 8),
             (128, 256, 64, 8), (128, 128, 128, 8)]
    for (m, n, k, warps), group, split, stages in itertools.product(tiles, (1, 16), (1, 2, 4),
                                                                    (3, 4)):
        depth = k * (2 if is_fp8 else 1)
        if (m + n) * depth * (1 if is_fp8 else 2) * stages <= 220_000 and (split == 1 or m <= 64):
            yield Configuration(m, n, min(depth, 256), group, split, warps, stages)


class Problem:
    """One layer on one rank; `width` is an expert's part of the intermediate width."""

    def __init__(self, model, tp, tokens, skew, is_fp8, seed, device):
        self.hidden, intermediate, self.experts, self.topk = model
        self.intermediate, self.tp, self.tokens = intermediate, tp, tokens
        self.width, self.is_fp8, self.device = intermediate // tp, is_fp8, device
        self.assignments = tokens * self.topk
        generator = torch.Generator(device).manual_seed(seed)
        # Popularity ~ rank^-skew, experts in random order; Gumbel top k draws without replacement.
        popularity = -skew * torch.log(1.0 + torch.randperm(self.experts, generator=generator,
                                                            device=device).float())
        noise = torch.rand(tokens, self.experts, generator=generator, device=device)
        scores = popularity - torch.log(-torch.log(noise.clamp_(1e-9, 1 - 1e-7)))
        self.gates, ids = torch.topk(torch.softmax(scores, 1), self.topk, dim=1)
        self.ids = ids.to(torch.int32).contiguous()
        self.gates = self.gates.contiguous()
        counts = torch.bincount(self.ids.flatten().long(), minlength=self.experts)
        self.histogram = counts.tolist()
        self.x_generator = generator

    def elements(self):
        return 3 * self.experts * self.width * self.hidden


class Layer:
    """Buffers of a problem under a configuration, and its launches."""

    def __init__(self, problem, configuration, pool):
        p, c = problem, configuration
        self.p, self.c = p, c
        dtype = FP8 if p.is_fp8 else torch.bfloat16
        count = p.elements()
        self.room = max(1, min(4, pool.numel() * pool.element_size() // (count * dtype.itemsize)))
        flat = pool.view(dtype)
        self.copies = []
        for i in range(self.room):
            w = flat[i * count:(i + 1) * count]
            up = w[:2 * count // 3].view(p.experts, 2 * p.width, p.hidden)
            self.copies.append((up, w[2 * count // 3:].view(p.experts, p.hidden, p.width)))
        self.x = torch.randn(p.tokens, p.hidden, device=p.device, dtype=torch.bfloat16,
                             generator=p.x_generator)
        self.length = p.assignments + p.experts * (c.m - 1)
        self.length = min(self.length, p.assignments * c.m)
        self.tiles_m = -(-self.length // c.m)
        whole = self.tiles_m * c.m
        self.experts_2 = max(16, triton.next_power_of_2(p.experts + 1))
        empty = lambda *shape, t=torch.bfloat16: torch.empty(*shape, dtype=t, device=p.device)
        self.offsets, self.cursors = (empty(self.experts_2, t=torch.int32) for _ in range(2))
        self.rows, self.tile_experts = empty(whole + 1024, t=torch.int32), empty(
            self.tiles_m + 1024, t=torch.int32)
        part = torch.float32 if c.split > 1 else torch.bfloat16
        self.up, self.mid = empty(p.assignments, 2 * p.width, t=part), empty(p.assignments, p.width)
        self.down, self.y = empty(p.assignments, p.hidden, t=part), empty(p.tokens, p.hidden)
        self.x8 = empty(p.tokens, p.hidden, t=FP8) if p.is_fp8 else None
        self.mid8 = empty(p.assignments, p.width, t=FP8) if p.is_fp8 else None

    def product(self, a, b, out, topk, gated):
        p, c = self.p, self.c
        columns, depth = b.shape[1], b.shape[2]
        if c.split > 1:
            out.zero_()
        grid = (self.tiles_m * -(-columns // c.n), c.split)
        scale = 1.0 / 16.0 if p.is_fp8 else 1.0  # activations are quantised times 16
        product_kernel[grid](a, b, out, self.rows, self.tile_experts, p.gates, scale, columns, depth,
                             p.assignments, self.tiles_m, p.experts, topk, c.group, c.split, gated,
                             c.m, c.n, c.k, c.split > 1, depth % (c.k * c.split) == 0,
                             num_warps=c.warps, num_stages=c.stages)

    def quantise(self, x, y):
        quantise_kernel[(-(-x.numel() // 4096),)](x, y, x.numel(), 16.0, 4096)
        return y

    def launch(self, i):
        p, c = self.p, self.c
        up_weights, down_weights = self.copies[i % self.room]
        block = max(1024, c.m)
        count_kernel[(1,)](p.ids, self.offsets, self.cursors, p.assignments, p.experts, 1024,
                           self.experts_2, c.m, num_warps=8)
        prepare_kernel[(-(-self.length // block),)](self.offsets, self.rows, self.tile_experts,
                                                   self.tiles_m * c.m, p.assignments, block,
                                                   self.experts_2, c.m)
        scatter_kernel[(-(-p.assignments // 256),)](p.ids, self.cursors, self.rows, p.assignments,
                                                    256)
        x = self.quantise(self.x, self.x8) if p.is_fp8 else self.x
        self.product(x, up_weights, self.up, p.topk, False)
        silu_and_mul_kernel[(p.assignments, -(-p.width // 1024))](self.up, self.mid, p.width, 1024)
        mid = self.quantise(self.mid, self.mid8) if p.is_fp8 else self.mid
        self.product(mid, down_weights, self.down, 1, True)
        sum_kernel[(p.tokens, -(-p.hidden // 1024))](self.down, self.y, p.hidden, p.topk, 1024)

    def reference(self):
        """The same layer in PyTorch, expert by expert, in fp32 from the same rounded inputs."""
        p = self.p
        up_weights, down_weights = self.copies[0]
        y = torch.zeros(p.tokens, p.hidden, device=p.device)
        x = (self.x.float() * 16).clamp(-448, 448).to(FP8).float() / 16 if p.is_fp8 else self.x.float()
        for expert in range(p.experts):
            token, slot = torch.where(p.ids == expert)
            if token.numel() == 0:
                continue
            up = (x[token] @ up_weights[expert].float().T).bfloat16().float()
            mid = (torch.nn.functional.silu(up[:, :p.width]) * up[:, p.width:]).bfloat16().float()
            if p.is_fp8:
                mid = (mid * 16).clamp(-448, 448).to(FP8).float() / 16
            down = mid @ down_weights[expert].float().T * p.gates[token, slot][:, None]
            y.index_add_(0, token, down)
        return y

    def is_right(self):
        self.launch(0)
        expected, got = self.reference(), self.y.float()
        return ((got - expected).norm() / expected.norm().clamp_min(1e-20)).item() < 0.02


class MoeBench(attention_torch.Bench):
    """The stopwatch of attention_torch.py over a pool of weights small enough for fp8's range."""

    def __init__(self, device):
        super().__init__(device)
        del self.pool
        self.weights = torch.empty(34_000_000_000, dtype=torch.uint8, device=device)
        self.filled = None

    def fill(self, is_fp8):
        if self.filled == is_fp8:
            return
        view = self.weights.view(torch.bfloat16)
        step = 500_000_000
        if is_fp8:
            for piece in self.weights.split(step):
                piece.view(FP8).copy_(torch.randn(piece.numel(), device=self.device) * 0.5)
        else:
            for piece in view.split(step):
                piece.normal_(std=0.03)
        self.filled = is_fp8

    def time(self, layer, repeats):
        call = layer.launch
        guess = max(0.5, statistics.median(self.replay(self.capture(call, 1, False), 1, 2, False)))
        launches = max(1, min(16, math.ceil(150 / guess)))
        graph = self.capture(call, launches, True)
        cold = sorted(self.replay(graph, launches, repeats, True))
        return cold, torch.cuda.clock_rate(self.device), launches


def draw_problem(draw, device, heavy):
    model = draw.choice(MODELS)
    tp = draw.choice([t for t in (1, 1, 2, 4, 8) if model[1] % (t * 64) == 0])
    tokens = draw.choice(TOKENS[:-3] if heavy else TOKENS)
    skew = draw.choice([0.0, 0.0, 0.5, 0.8, 1.0, 1.2])
    is_fp8 = draw.random() < 0.4
    problem = Problem(model, tp, tokens, skew, is_fp8, draw.randrange(1 << 30), device)
    work = 6.0 * problem.assignments * problem.width * problem.hidden
    return problem if work < 4e12 and problem.elements() * (1 if is_fp8 else 2) <= 34e9 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="fused_moe.csv")
    parser.add_argument("--seconds", type=float, default=120, help="for the dataset")
    parser.add_argument("--configuration-seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    device = torch.device("cuda", 0)
    torch.backends.cuda.matmul.allow_tf32 = False
    bench = MoeBench(device)
    header = attention_torch.provenance(device, arguments.seed)
    header.update({"program": "fused_moe_triton.py 1", "triton": triton.__version__, "method":
                   "CUDA graph of `launches` layers on different weights; L2 swept before each of "
                   "`repeats` replays; (event time - graph head) / launches; median, 10th, 90th "
                   "percentile; one layer in ten (of up to 512 tokens), and each configuration once, checked "
                   "against PyTorch within 2 % (relative norm) before timing",
                   "lists": "histogram: assignments of each expert, value*count joined by |"})

    def problem_columns(p):
        return [p.tokens, p.experts, p.topk, p.hidden, p.intermediate, "fp8" if p.is_fp8 else "bf16",
                p.tp, 1, attention_torch.run_lengths(sorted(p.histogram, reverse=True))]

    names = ["tokens", "experts", "topk", "hidden", "intermediate", "dtype", "tp", "ep", "histogram"]
    draw = random.Random(arguments.seed)
    done, wrong, failed, failure = 0, 0, 0, ""
    with torch.cuda.stream(bench.stream), torch.no_grad(), \
            open(arguments.out, "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["kernel", "framework", "kernel_source"] + names +
                        ["time_us", "p10_us", "p90_us", "sm_clock_mhz", "launches", "repeats", "pass"]
                        + CONFIGURATION_COLUMNS)
        start = time.monotonic()
        # Formats in turns: filling the weights takes a while.
        for phase in range(4):
            is_fp8 = phase % 2 == 1
            bench.fill(is_fp8)
            until = arguments.seconds * (phase + 1) / 4
            while time.monotonic() - start < until:
                p = draw_problem(draw, device, False)
                if p is None or p.is_fp8 != is_fp8:
                    continue
                try:
                    layer = Layer(p, default_configuration(p.tokens, p.experts, is_fp8),
                                  bench.weights)
                    if done % 10 == 0 and p.tokens <= 512 and not layer.is_right():
                        wrong += 1
                        continue
                    layer.launch(0)
                    cold, clock, launches = bench.time(layer, 9)
                except Exception as error:  # a configuration that does not compile or fit
                    failed, failure = failed + 1, failure or repr(error)[:500]
                    continue
                tenths = statistics.quantiles(cold, n=10, method="inclusive")
                writer.writerow(["fused_moe", "pytorch", "triton"] + problem_columns(p) +
                                [f"{statistics.median(cold):.6g}", f"{tenths[0]:.6g}",
                                 f"{tenths[-1]:.6g}", clock, launches, 9, 0] + layer.c.columns())
                done += 1
        file.flush()
        print(f"fused_moe: {done} layers, {wrong} wrong, {failed} failed, {failure}")
        if arguments.configuration_seconds > 0:
            measure_configurations(bench, draw, device, header, names, problem_columns, arguments)


def measure_configurations(bench, draw, device, header, names, problem_columns, arguments):
    """Every configuration of the pool on a few problems: what a dispatcher chooses from."""
    header = dict(header, format="foretoken moe configurations 1")
    start, rows, wrong, failed, compiled = time.monotonic(), 0, 0, 0, set()
    with open(arguments.out.removesuffix(".csv") + ".configurations.csv", "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem"] + names + CONFIGURATION_COLUMNS + ["time_us", "sm_clock_mhz"])
        bench.fill(False)
        problem_number = 0
        while time.monotonic() - start < arguments.configuration_seconds:
            p = draw_problem(draw, device, True)
            if p is None or p.is_fp8:
                continue
            for configuration in pool_of_configurations(False):
                if time.monotonic() - start > arguments.configuration_seconds:
                    break
                try:
                    layer = Layer(p, configuration, bench.weights)
                    key = tuple(configuration.columns())
                    if key not in compiled and p.tokens <= 256:
                        compiled.add(key)
                        if not layer.is_right():
                            wrong += 1
                            continue
                    layer.launch(0)
                    cold, clock, _ = bench.time(layer, 3)
                except Exception:  # does not compile, or too much shared memory
                    failed += 1
                    continue
                writer.writerow([problem_number] + problem_columns(p) + configuration.columns() +
                                [f"{statistics.median(cold):.6g}", clock])
                rows += 1
            problem_number += 1
    print(f"configurations: {rows} times on {problem_number} problems, {wrong} wrong, {failed} failed")


if __name__ == "__main__":
    main()

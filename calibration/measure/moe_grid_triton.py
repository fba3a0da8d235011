#!/usr/bin/env python3
"""Times every configuration of the fused MoE layer of fused_moe_triton.py on a grid of architectures,
batch sizes and balancedness: what dispatch by the wave model is fitted to and judged by.

Architectures are the eight of RaMP's Table IV; balancedness is the entropy of the experts'
popularity over ln(experts), reached by a Zipf law whose exponent is found by bisection, assignments
drawn with replacement (skews below ln k / ln E need that). Each configuration is compared with plain
PyTorch once an architecture before it is timed. Points come round-robin over architectures, small batches
first, so that a run cut short still covers all. `--compile-part 2/8` only compiles its part of the
configurations (to run side by side before the real run). `--like GRID.csv[.gz]` leaves out
configurations that were never near the best of their architecture there: measured again with the same
seed, the points' histograms are the same, so that the two runs tell noise from choice.
`--kernel one_launch` times the layer of moe_one_launch_triton.py instead (fp8, scales of blocks).
"""

import argparse
import csv
import gzip
import math
import statistics
import time

import torch
import triton

import attention_torch
import fused_moe_triton as moe
import moe_one_launch_triton as one_launch

# (hidden, intermediate of one expert on the rank, experts, top k), RaMP Table IV and public configs.
ARCHITECTURES = {
    "olmoe": (2048, 1024, 64, 8), "qwen3-30b-a3b": (2048, 768, 128, 8),
    "mixtral-8x22b": (6144, 16384, 8, 2), "deepseek-v3-ep8": (7168, 256, 32, 8),
    "deepseek-v3-tp8": (7168, 256, 256, 8), "phi-3.5-moe": (4096, 6400, 16, 2),
    "jamba-1.5": (4096, 8192, 16, 2), "dbrx": (6144, 10752, 16, 4)}
TOKENS = [8, 32, 128, 512, 16, 64, 256, 1024]
BALANCEDNESS = [0.5, 1.0, 0.3, 0.8, 0.2, 0.7, 0.4]


def zipf_exponent(experts, balancedness):
    """The exponent at which the popularity's entropy is `balancedness` of the largest."""
    if balancedness >= 1.0:
        return 0.0
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        weights = [(i + 1.0) ** -middle for i in range(experts)]
        total = sum(weights)
        entropy = -sum(w / total * math.log(w / total) for w in weights if w > 0)
        low, high = (middle, high) if entropy / math.log(experts) > balancedness else (low, middle)
    return (low + high) / 2


class GridProblem(moe.Problem):
    """A problem whose experts are drawn to a balancedness, with replacement."""

    def __init__(self, architecture, tokens, balancedness, is_fp8, seed, device):
        super().__init__(architecture, 1, tokens, 0.0, is_fp8, seed, device)
        popularity = torch.arange(1, self.experts + 1, device=device, dtype=torch.float64)
        popularity = popularity ** -zipf_exponent(self.experts, balancedness)
        order = torch.randperm(self.experts, generator=self.x_generator, device=device)
        drawn = torch.multinomial(popularity[order], self.assignments, replacement=True,
                                  generator=self.x_generator)
        self.ids = drawn.view(tokens, self.topk).to(torch.int32).contiguous()
        self.histogram = torch.bincount(drawn, minlength=self.experts).tolist()

    def realised(self):
        shares = [count / self.assignments for count in self.histogram if count > 0]
        return -sum(p * math.log(p) for p in shares) / math.log(self.experts)


def contenders(path, within):
    """Configurations of each architecture that were within a share of the best at any of its points."""
    points = {}
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            point = (row["architecture"], row["tokens"], row["balancedness"])
            key = tuple(row[column] for column in moe.CONFIGURATION_COLUMNS)
            points.setdefault(point, {})[key] = float(row["time_us"])
    kept = {}
    for (architecture, _, _), times in points.items():
        limit = min(times.values()) * (1 + within)
        kept.setdefault(architecture, set()).update(k for k, t in times.items() if t <= limit)
    return kept


def kernel_of(name, is_fp8):
    """The layer's class and the configurations that it comes in."""
    if name == "one_launch":
        return one_launch.OneLaunch, list(one_launch.pool_of_configurations())
    return moe.Layer, list(moe.pool_of_configurations(is_fp8))


def kernel_variants(name):
    """Architectures that between them need every compiled variant."""
    return ["olmoe", "qwen3-30b-a3b"] if name == "one_launch" else ["olmoe"]


def numbers(text):
    return [float(x) for x in text.split(",")]


def compile_part(part, kernel, is_fp8, device):
    index, parts = (int(x) for x in part.split("/"))
    weights = torch.empty(2_000_000_000, dtype=torch.uint8, device=device)
    make, configurations = kernel_of(kernel, is_fp8)
    for architecture in kernel_variants(kernel):
        problem = GridProblem(ARCHITECTURES[architecture], 8, 1.0, is_fp8, 1, device)
        for i, configuration in enumerate(configurations):
            if i % parts == index:
                try:
                    make(problem, configuration, weights).launch(0)
                except Exception as error:
                    print(configuration.columns(), repr(error)[:200])
    torch.cuda.synchronize()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="moe_grid.csv")
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--dtype", choices=["bf16", "fp8"], default="fp8")
    parser.add_argument("--kernel", choices=["seven_launches", "one_launch"], default="seven_launches")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile-part", default="")
    parser.add_argument("--tokens", type=numbers, default=TOKENS)
    parser.add_argument("--balancedness", type=numbers, default=BALANCEDNESS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--like", default="", help="a grid whose contenders alone are measured")
    parser.add_argument("--within", type=float, default=0.03, help="of the best, for --like")
    arguments = parser.parse_args()
    device = torch.device("cuda", 0)
    torch.backends.cuda.matmul.allow_tf32 = False
    is_fp8 = arguments.dtype == "fp8"
    if arguments.compile_part:
        compile_part(arguments.compile_part, arguments.kernel, is_fp8, device)
        return
    bench = moe.MoeBench(device)
    bench.fill(is_fp8)
    header = attention_torch.provenance(device, arguments.seed)
    header.update({"format": "foretoken moe grid 1", "program": f"moe_grid_triton.py 2, {arguments.kernel}",
                   "triton": triton.__version__, "method":
                   "CUDA graph of `launches` layers on different weights; L2 swept before each of "
                   f"{arguments.repeats} replays; (event time - graph head) / launches; median; each configuration "
                   "checked once an architecture (first point of up to 256 tokens) against PyTorch "
                   "within 2 % (relative norm)",
                   "lists": "histogram: assignments of each expert, value*count joined by |"})
    make, configurations = kernel_of(arguments.kernel, is_fp8)
    kept = contenders(arguments.like, arguments.within) if arguments.like else {}
    start, rows, wrong, failed, failure, checked = time.monotonic(), 0, 0, 0, "", set()
    with torch.cuda.stream(bench.stream), torch.no_grad(), \
            open(arguments.out, "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["architecture", "tokens", "balancedness", "realised", "experts", "topk",
                         "hidden", "intermediate", "dtype", "histogram"] +
                        moe.CONFIGURATION_COLUMNS + ["time_us", "sm_clock_mhz"])
        points = [(t, b, a) for t in TOKENS for b in BALANCEDNESS for a in ARCHITECTURES]
        asked = [(t, b) for t in arguments.tokens for b in arguments.balancedness]
        finished = 0
        for number, (tokens, balancedness, name) in enumerate(points):
            if time.monotonic() - start > arguments.seconds:
                break
            if (tokens, balancedness) not in asked:
                continue
            problem = GridProblem(ARCHITECTURES[name], tokens, balancedness, is_fp8,
                                  arguments.seed * 100_003 + number, device)
            timed = []
            for configuration in configurations:
                key = (name, *configuration.columns())
                if kept and tuple(str(x) for x in configuration.columns()) not in kept[name]:
                    continue
                try:
                    layer = make(problem, configuration, bench.weights)
                    if key not in checked and tokens <= 256:
                        checked.add(key)
                        if not layer.is_right():
                            wrong += 1
                            continue
                    layer.launch(0)
                    cold, clock, _ = bench.time(layer, arguments.repeats)
                except Exception as error:  # does not compile, or too much shared memory
                    failed, failure = failed + 1, failure or repr(error)[:500]
                    continue
                timed.append(configuration.columns() + [f"{statistics.median(cold):.6g}", clock])
                if time.monotonic() - start > arguments.seconds + 30:
                    timed = []  # half a point helps nobody
                    break
            hidden, intermediate, experts, topk = ARCHITECTURES[name]
            for row in timed:
                writer.writerow([name, tokens, balancedness, f"{problem.realised():.4f}", experts,
                                 topk, hidden, intermediate, arguments.dtype,
                                 attention_torch.run_lengths(sorted(problem.histogram,
                                                                    reverse=True))] + row)
            file.flush()
            rows += len(timed)
            finished += bool(timed)
    print(f"grid: {rows} times on {finished} points of {len(points)}, {wrong} wrong, {failed} "
          f"failed, {failure}; {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

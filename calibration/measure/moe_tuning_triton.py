#!/usr/bin/env python3
"""Tunes launches of the fused MoE layer that run well below their ceiling, by block sizes, stages and
warps: what SynPerf's Section VII-C does to its underperforming points.

    foretoken diagnose fused_moe.csv --gap 0.1 --csv gaps.csv
    moe_tuning_triton.py fused_moe.csv gaps.csv --out moe_tuning_bf16.csv

Layers come from the dataset, one of each size, the furthest below their ceiling first. Each is built
again with the very number of rows for each expert and timed with the configuration that serving
frameworks fall back to and with every one of the pool, each configuration checked against PyTorch before its
first use; GROUP_M and split-K stay those of the fallback. Then the fallback and the fastest few take turns,
so that the gain is not that of the luckiest of ninety timings. Layers are bf16: in fp8
hardly any is below its ceiling.
"""

import argparse
import csv
import gzip
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

import attention_torch
import fused_moe_triton as moe
from moe_contenders_triton import time_in_turns

FASTEST = 4  # take turns with the fallback
GRAPH_US, LAUNCHES_MAX = 150.0, 16  # as in MoeBench.time
SHARED_MAX, SUMS_MAX = 220_000, 128  # bytes a CTA; fp32 sums a thread


def lines_of(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return file.read().splitlines()


def worst_layers(dataset, gaps, count):
    """Rows of the dataset with a gap, the largest of each size, largest first."""
    lines = lines_of(dataset)
    head = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    names = lines[head].split(",")
    worst = {}
    for gap in csv.DictReader(lines_of(gaps)):
        row = dict(zip(names, lines[int(gap["row"].rsplit(":", 1)[1]) - 1].split(",")))
        if gap["underperforming"] != "1" or row["dtype"] != "bf16":
            continue
        size = tuple(row[key] for key in ("tokens", "experts", "topk", "hidden", "intermediate", "tp"))
        if size not in worst or float(gap["gap"]) > worst[size][0]:
            worst[size] = (float(gap["gap"]), row)
    return [row for _, row in sorted(worst.values(), key=lambda entry: -entry[0])[:count]]


def read_counts(text):
    """"7|5*4" -> [7, 5, 5, 5, 5]."""
    counts = []
    for part in text.split("|"):
        value, _, times = part.partition("*")
        counts += [int(value)] * int(times or 1)
    return counts


class LayerProblem(moe.Problem):
    """A row of a dataset: its sizes and how many rows each expert has, which tokens they are drawn."""

    def __init__(self, row, seed, device):
        sizes = tuple(int(row[key]) for key in ("hidden", "intermediate", "experts", "topk"))
        super().__init__(sizes, int(row["tp"]), int(row["tokens"]), 0.0, False, seed, device)
        self.histogram = read_counts(row["histogram"])
        experts = torch.randperm(self.experts, generator=self.x_generator, device=device)
        rows = torch.repeat_interleave(experts, torch.tensor(self.histogram, device=device))
        order = torch.randperm(self.assignments, generator=self.x_generator, device=device)
        self.ids = rows[order].view(self.tokens, self.topk).to(torch.int32).contiguous()


def pool_of_tiles():
    """(block m, n, k, warps, stages) whose sums fit the registers and whose slices fit shared memory."""
    for m, n, k in itertools.product((16, 32, 64, 128), (32, 64, 128, 256), (32, 64, 128)):
        for warps, stages in itertools.product((4, 8), (3, 4)):
            sums = m * n / (32 * warps)
            if k == 32 and m * n not in (64 * 64, 128 * 128):
                continue  # short slices pay in large products alone
            if not 2 * warps - 4 <= sums <= SUMS_MAX or (m + n) * k * 2 * stages > SHARED_MAX:
                continue
            yield m, n, k, warps, stages


def configurations_of(problem):
    """The fallback first, then the pool."""
    fallback = moe.default_configuration(problem.tokens, problem.experts, False)
    pool = [moe.Configuration(m, n, k, fallback.group, 1, warps, stages)
            for m, n, k, warps, stages in pool_of_tiles()]
    return [fallback] + [c for c in pool if c.columns() != fallback.columns()]


def compile_part(part, layers, device):
    index, parts = (int(x) for x in part.split("/"))
    weights = torch.empty(3_000_000_000, dtype=torch.uint8, device=device)
    smallest = min(layers, key=lambda row: int(row["experts"]) * int(row["hidden"]) *
                   int(row["intermediate"]) // int(row["tp"]))
    problem = LayerProblem(smallest, 1, device)
    for i, configuration in enumerate(configurations_of(problem)):
        if i % parts == index:
            try:
                moe.Layer(problem, configuration, weights).launch(0)
            except Exception as error:
                print(configuration.columns(), repr(error)[:200])
    torch.cuda.synchronize()


def screen(bench, problem, checked, seconds):
    """(layer, microseconds) of every configuration that runs; how many were wrong and failed."""
    timed, wrong, failed = [], 0, 0
    start = time.monotonic()
    for configuration in configurations_of(problem):
        if time.monotonic() - start > seconds:
            return [], wrong, failed  # half a layer helps nobody
        try:
            layer = moe.Layer(problem, configuration, bench.weights)
            key = tuple(configuration.columns())
            if key not in checked and problem.tokens <= 512:
                checked.add(key)
                if not layer.is_right():
                    wrong += 1
                    continue
            layer.launch(0)
            cold, _, _ = bench.time(layer, 3)
        except Exception as error:
            failed += 1
            print(configuration.columns(), repr(error)[:200], file=sys.stderr)
            continue
        timed.append((layer, statistics.median(cold)))
    return timed, wrong, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset", help="fused_moe.csv of fused_moe_triton.py")
    parser.add_argument("gaps", help="what `foretoken diagnose DATASET --csv` wrote of it")
    parser.add_argument("--out", default="moe_tuning_bf16.csv")
    parser.add_argument("--count", type=int, default=140)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="that compile; 0 = as needed")
    parser.add_argument("--compile-part", default="")
    arguments = parser.parse_args()
    layers = worst_layers(arguments.dataset, arguments.gaps, arguments.count)
    device = torch.device("cuda", 0)
    torch.backends.cuda.matmul.allow_tf32 = False
    if arguments.compile_part:
        compile_part(arguments.compile_part, layers, device)
        return
    start = time.monotonic()
    workers = [subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--compile-part",
                                 f"{i}/{arguments.cores}"]) for i in range(arguments.cores)]
    for worker in workers:
        worker.wait()
    print(f"compiled after {time.monotonic() - start:.0f} s", flush=True)
    bench = moe.MoeBench(device)
    bench.fill(False)
    header = attention_torch.provenance(device, arguments.seed)
    header.update({"format": "foretoken moe configurations 1", "program": "moe_tuning_triton.py 1",
                   "triton": triton.__version__,
                   "layers": f"below their ceiling in {os.path.basename(arguments.dataset)}, one of each "
                   "size, the furthest first; the first row of each is the configuration that frameworks "
                   "fall back to", "method":
                   "CUDA graph of `launches` layers on different weights; L2 swept before each replay; "
                   "(event time - graph head) / launches; screen_us: median of 3; time_us: of the fallback and "
                   f"the fastest {FASTEST} the median of 9 to 41 rounds in turns, of the others "
                   "screen_us times what the fallback's turns took over its screen_us",
                   "lists": "histogram: assignments of each expert, value*count joined by |"})
    names = ["tokens", "experts", "topk", "hidden", "intermediate", "dtype", "tp", "ep", "histogram"]
    start, done, rows, wrong, failed, checked = time.monotonic(), 0, 0, 0, 0, set()
    draw = random.Random(arguments.seed)
    with torch.cuda.stream(bench.stream), torch.no_grad(), \
            open(arguments.out, "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem"] + names + moe.CONFIGURATION_COLUMNS + ["time_us", "screen_us"])
        for number, row in enumerate(layers):
            left = arguments.seconds - (time.monotonic() - start)
            if left <= 0:
                break
            problem = LayerProblem(row, arguments.seed * 100_003 + number, device)
            timed, bad, gone = screen(bench, problem, checked, left)
            wrong, failed = wrong + bad, failed + gone
            if not timed or timed[0][0].c.columns() != configurations_of(problem)[0].columns():
                continue
            fastest = sorted(timed[1:], key=lambda entry: entry[1])[:FASTEST]
            contenders = [timed[0][0]] + [layer for layer, _ in fastest]
            launches = max(1, min(LAUNCHES_MAX, math.ceil(GRAPH_US / fastest[0][1])))
            turns = time_in_turns(bench, contenders, launches, 0.3, draw)
            medians = {id(layer): statistics.median(t) for layer, t in zip(contenders, turns)}
            drift = medians[id(timed[0][0])] / timed[0][1]
            for layer, screened in timed:
                writer.writerow([number] + [row[name] for name in names] + layer.c.columns() +
                                [f"{t:.6g}" for t in (medians.get(id(layer), screened * drift),
                                                      screened)])
            file.flush()
            done, rows = done + 1, rows + len(timed)
    print(f"tuning: {rows} times on {done} layers of {len(layers)}, {wrong} wrong, {failed} failed; "
          f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

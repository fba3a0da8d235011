#!/usr/bin/env python3
"""Times again, side by side and often, the configurations that may be the best of each point of a grid
that moe_grid_triton.py wrote: what choices of the wave model are judged by.

The grid times one configuration after the other, three times each: near the best, differences of a percent
are noise, and heavy layers drift with the power limit. Here all contenders of a point (those near its best,
and those a little further off that are at the top somewhere else on the architecture) are captured first
and then take turns, one replay each a round, in another order every round, with a rest after each round as
long as the round itself where a layer is heavy. The kernel, the draws, the graphs of `launches` layers and
the sweep of L2 are the grid's; a point whose histogram is not the grid's stops the run. Points come in a
random order of the pass, so that a second pass meets each point at another time: the two tell what is noise.
"""

import argparse
import csv
import gzip
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
import moe_grid_triton as grid

ROUNDS_MIN, ROUNDS_MAX = 9, 41
HEAVY_US, REST_SHARE = 200.0, 1.0  # a layer that is longer rests as long as its round took
GRAPH_US, LAUNCHES_MAX = 150.0, 16  # as in MoeBench.time


def read_grid(path):
    """{(architecture, tokens, balancedness): (histogram, {configuration: time})} in the file's order, and the
    number format."""
    points, dtype = {}, ""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            key = (row["architecture"], int(row["tokens"]), float(row["balancedness"]))
            configuration = tuple(int(row[column]) for column in moe.CONFIGURATION_COLUMNS)
            points.setdefault(key, (row["histogram"], {}))[1][configuration] = float(row["time_us"])
            dtype = row["dtype"]
    return points, dtype


def at_the_top(points, top):
    """Of each architecture: configurations within `top` of the best at one of its points."""
    good = {}
    for (architecture, _, _), (_, times) in points.items():
        limit = min(times.values()) * (1 + top)
        good.setdefault(architecture, set()).update(c for c, t in times.items() if t <= limit)
    return good


def choose_contenders(points, good, within, further):
    """Of each point: configurations within `within` of its best, and `good` ones within `further` of it."""
    chosen = {}
    for key, (_, times) in points.items():
        best = min(times.values())
        chosen[key] = sorted(c for c, t in times.items() if t <= best * (1 + within) or
                             (t <= best * (1 + further) and c in good[key[0]]))
    return chosen


def seed_of(key, seed):
    """As moe_grid_triton.py numbers its points."""
    points = [(a, t, b) for t in grid.TOKENS for b in grid.BALANCEDNESS for a in grid.ARCHITECTURES]
    return seed * 100_003 + points.index(key)


def compile_part(part, chosen, is_fp8, device):
    """Launches each configuration once on each architecture that it is a contender of."""
    index, parts = (int(x) for x in part.split("/"))
    of_architecture = {}
    for (architecture, _, _), configurations in chosen.items():
        of_architecture.setdefault(architecture, set()).update(configurations)
    everything = sorted(set().union(*of_architecture.values()))
    weights = torch.empty(3_300_000_000, dtype=torch.uint8, device=device)
    for architecture, configurations in of_architecture.items():
        problem = grid.GridProblem(grid.ARCHITECTURES[architecture], 8, 1.0, is_fp8, 1, device)
        for i, configuration in enumerate(everything):
            if i % parts == index and configuration in configurations:
                moe.Layer(problem, moe.Configuration(*configuration), weights).launch(0)
    torch.cuda.synchronize()


def compile_all(arguments, cores):
    workers = [subprocess.Popen([sys.executable, __file__, *arguments, "--compile-part", f"{i}/{cores}"])
               for i in range(cores)]
    failed = sum(worker.wait() != 0 for worker in workers)
    if failed:
        print(f"{failed} of {cores} compiling processes failed", file=sys.stderr)


def time_in_turns(bench, layers, launches, seconds, draw):
    """Microseconds a layer: a list of rounds for each."""
    graphs = [bench.capture(layer.launch, launches, True) for layer in layers]
    times = [[] for _ in layers]
    for graph in graphs:
        graph.replay()
    bench.stream.synchronize()
    start = time.monotonic()
    order = list(range(len(layers)))
    for number in range(ROUNDS_MAX):
        if number >= ROUNDS_MIN and time.monotonic() - start > seconds:
            break
        draw.shuffle(order)
        round_start, events = time.monotonic(), []
        for _ in range(4):  # the processor gets ahead of the GPU: no event waits for a launch
            bench.sweep.max()
        for i in order:
            bench.sweep.max()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graphs[i].replay()
            end.record()
            events.append((i, begin, end))
        bench.stream.synchronize()
        for i, begin, end in events:
            times[i].append((begin.elapsed_time(end) * 1000 - bench.graph_head_us) / launches)
        if statistics.fmean(t[-1] for t in times) > HEAVY_US:
            time.sleep(REST_SHARE * (time.monotonic() - round_start))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("grid", help="what moe_grid_triton.py wrote")
    parser.add_argument("--out", default="moe_contenders.csv")
    parser.add_argument("--seconds", type=float, default=120, help="spread evenly over the points")
    parser.add_argument("--seed", type=int, default=1, help="the grid's")
    parser.add_argument("--pass", type=int, default=0, dest="number", help="another order of the points")
    parser.add_argument("--check", action="store_true", help="contenders of a point an architecture")
    parser.add_argument("--within", type=float, default=0.06)
    parser.add_argument("--further", type=float, default=0.20)
    parser.add_argument("--top", type=float, default=0.02)
    parser.add_argument("--before", nargs="*", default=[], help="what this program wrote: its best are contenders too")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="that compile; 0 = as needed")
    parser.add_argument("--compile-part", default="")
    arguments = parser.parse_args()
    device = torch.device("cuda", 0)
    torch.backends.cuda.matmul.allow_tf32 = False
    points, dtype = read_grid(arguments.grid)
    good = at_the_top(points, arguments.top)
    for path in arguments.before:
        for architecture, configurations in at_the_top(read_grid(path)[0], arguments.top).items():
            good[architecture] |= configurations
    chosen = choose_contenders(points, good, arguments.within, arguments.further)
    is_fp8 = dtype == "fp8"
    if arguments.compile_part:
        compile_part(arguments.compile_part, chosen, is_fp8, device)
        return
    start = time.monotonic()
    if arguments.cores > 0:
        compile_all(sys.argv[1:], arguments.cores)
    print(f"compiled after {time.monotonic() - start:.0f} s", flush=True)
    bench = moe.MoeBench(device)
    bench.fill(is_fp8)
    header = attention_torch.provenance(device, arguments.seed)
    header.update({"format": "foretoken moe grid 1", "program": "moe_contenders_triton.py 1",
                   "triton": triton.__version__, "method":
                   "as moe_grid_triton.py, but contenders of a point in turns, one replay of each a round, "
                   f"in a random order; rest as long as the round where a layer takes over {HEAVY_US:.0f} us; "
                   f"median of `rounds`, quarters; pass {arguments.number}",
                   "contenders": f"within {arguments.within} of a point's best in {os.path.basename(arguments.grid)}, "
                   f"or within {arguments.further} and within {arguments.top} of the best elsewhere on the architecture",
                   "lists": "histogram: assignments of each expert, value*count joined by |"})
    draw = random.Random(1000 * arguments.seed + arguments.number)
    order = list(points)
    draw.shuffle(order)
    checked, wrong, rows, finished = set(), 0, 0, 0
    start = time.monotonic()
    with torch.cuda.stream(bench.stream), torch.no_grad(), open(arguments.out, "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["architecture", "tokens", "balancedness", "realised", "experts", "topk", "hidden",
                         "intermediate", "dtype", "histogram"] + moe.CONFIGURATION_COLUMNS +
                        ["time_us", "p25_us", "p75_us", "rounds", "sm_clock_mhz"])
        for number, key in enumerate(order):
            architecture, tokens, balancedness = key
            histogram, known = points[key]
            problem = grid.GridProblem(grid.ARCHITECTURES[architecture], tokens, balancedness, is_fp8,
                                       seed_of(key, arguments.seed), device)
            drawn = attention_torch.run_lengths(sorted(problem.histogram, reverse=True))
            if drawn != histogram:
                sys.exit(f"{key}: drew {drawn}, the grid has {histogram}")
            began = time.monotonic()
            share = (arguments.seconds - (began - start)) / (len(order) - number)
            layers = []
            for configuration in chosen[key]:
                layer = moe.Layer(problem, moe.Configuration(*configuration), bench.weights)
                if arguments.check and tokens <= 256 and (architecture, configuration) not in checked:
                    checked.add((architecture, configuration))
                    if not layer.is_right():
                        wrong += 1
                        continue
                layer.launch(0)
                layers.append(layer)
            launches = max(1, min(LAUNCHES_MAX, math.ceil(GRAPH_US / min(known.values()))))
            prepared = time.monotonic() - began
            times = time_in_turns(bench, layers, launches, share - prepared, draw)
            clock = torch.cuda.clock_rate(device)
            hidden, intermediate, experts, topk = grid.ARCHITECTURES[architecture]
            for layer, rounds in zip(layers, times):
                quarters = statistics.quantiles(rounds, n=4, method="inclusive")
                writer.writerow([architecture, tokens, balancedness, f"{problem.realised():.4f}", experts, topk,
                                 hidden, intermediate, dtype, histogram] +
                                layer.c.columns() +
                                [f"{t:.6g}" for t in (quarters[1], quarters[0], quarters[2])] +
                                [len(rounds), clock])
            file.flush()
            rows += len(layers)
            finished += 1
    print(f"contenders: {rows} times on {finished} points of {len(order)}, {len(checked)} checked, {wrong} wrong; "
          f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

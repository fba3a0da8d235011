#!/usr/bin/env python3
"""Executes engine steps on a GPU and times them: what `foretoken simulate --steps FILE` wrote, or a
grid of prefill, decode and mixed batches.

A step runs on random weights with a KV cache (step_model.py), is checked against a plain transformer
(step_check.py), and is timed in three ways: as a CUDA graph (GPU time alone), launched call by call
(host and GPU together), and kernel by kernel from the profiler's trace of the graph. One process is
one rank: torchrun starts several, joined by NCCL (step_ranks.py); alone, it runs a rank's share of
--tp ranks without the collectives. Writes NAME.csv (a row a step) and NAME_kernels.csv (a row a step and role).
"""

import argparse
import concurrent.futures
import csv
import datetime
import gc
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

os.environ.setdefault("TEARDOWN_CUPTI", "0")  # CUPTI must outlive the graphs that it traces

import torch
from torch.profiler import ProfilerActivity, profile

import step_check
import step_model
import step_ranks

try:
    from cuda.bindings import driver
except ImportError:  # then kernels are told apart by nothing, and NAME_kernels.csv stays empty
    driver = None

ERROR_MAX = 0.08  # of a logit's standard deviation: plain bf16 PyTorch is 0.03 off
CACHE_SHARE, ACTIVATION_BYTES = 0.85, 6e9  # of the memory that weights leave
TIMING_SHARE = 0.8  # of a layout's time; the rest is for tracing
REPLAYS_US, REPLAYS_MIN, REPLAYS_MAX = 60e3, 3, 15
LONG_US = 100e3  # from here on once is enough where noise is that of the host
SPIN_CYCLES = 2_000_000  # a millisecond: the host is ahead when the first replay starts
PROGRESS_STEPS = 10  # from one line of progress to the next
REST_S = 0.15  # a card that was hot comes back in 0.2 s
STEP_COLUMNS = ["step", "model", "tp", "ranks", "phase", "prefill", "decode", "tokens", "sequences",
                "gpu_us", "p10_us", "p90_us", "rested_us", "replays", "launches", "graph_host_us",
                "eager_host_us", "eager_us", "kernels_us", "profiled_us", "sm_clock_mhz",
                "power_w", "run", "stands_for"]
KERNEL_COLUMNS = ["step", "role", "launches", "time_us", "kernel_name", "grid", "block"]


def grid_batches():
    """Prefill of 64 to 8192 tokens in several shapes, chunks on a cached prefix, decodes of 1 to 256
    sequences at contexts of 128 to 32k, and batches of both."""
    def batch(prefill=(), decode=()):
        return step_model.Batch(prefill, decode)

    for tokens in (64, 128, 256, 512, 1024, 2048, 4096, 8192):
        yield batch([(tokens, tokens)])
    for count, tokens in ((4, 128), (16, 64), (8, 256), (4, 1024), (2, 4096), (3, 333)):
        yield batch([(tokens, tokens)] * count)
    for new, cached in ((128, 4096), (512, 2048), (512, 16384), (1024, 8192), (2048, 2048),
                        (2048, 30720), (256, 30000)):
        yield batch([(new, new + cached)])
    yield batch([(300, 300), (812, 2812), (900, 900)])
    for count in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        for context in (128, 512, 2048, 8192, 32768):
            if count * context <= 2_200_000:
                yield batch(decode=[(context, count)])
    draw = random.Random(7)
    for count in (6, 24, 48, 100, 200):  # contexts as different as in serving
        contexts = sorted(int(2 ** draw.uniform(6, 13)) for _ in range(count))
        yield batch(decode=[(context, 1) for context in contexts])
    for count, context, new, cached in ((8, 512, 504, 0), (32, 1024, 480, 0), (32, 2048, 992, 1024),
                                        (64, 1024, 1984, 0), (128, 512, 384, 4096),
                                        (200, 1500, 824, 0), (16, 8192, 2032, 0)):
        yield batch([(new, new + cached)], [(context, count)])


def steps_of(path):
    with open(path) as file:
        steps = [json.loads(line) for line in file]
    return [step_model.Batch(step["prefill"], step["decode"])
            for step in steps if step["prefill"] or step["decode"]]


def logged_batches(path, sample, seed=3):
    """Steps of a `--steps` file: each shape once, at most `sample` of them, drawn at random."""
    batches = list({batch.key(): batch for batch in steps_of(path)}.values())
    random.Random(seed).shuffle(batches)
    return batches[:sample]


def whole_run(path, sample):
    """Steps that add up to the run of a `--steps` file: all with prefill, and the rest evenly, one for
    as many as make `sample` in all. Each knows for how many it stands."""
    steps = steps_of(path)
    chosen = [(batch, 1) for batch in steps if batch.prefill]
    decodes = [batch for batch in steps if not batch.prefill]
    parts = min(len(decodes), max(1, sample - len(chosen)))
    ends = [len(decodes) * part // parts for part in range(parts + 1)] if decodes else []
    chosen += [(decodes[(begin + end) // 2], end - begin) for begin, end in zip(ends, ends[1:])]
    for batch, count in chosen:
        batch.run, batch.stands_for = pathlib.Path(path).stem, count
    return [batch for batch, _ in chosen]


def list_text(entries):
    return "|".join(f"{a}x{b}" for a, b in entries)


class Executor:
    def __init__(self, model, ranks, seconds):
        self.model, self.device, self.ranks = model, model.device, ranks
        self.deadline = time.monotonic() + seconds
        self.stream = torch.cuda.Stream(self.device)
        self.pool = torch.cuda.graph_pool_handle()
        self.generator = torch.Generator().manual_seed(11)
        with torch.cuda.stream(self.stream):
            self.sweep = torch.zeros(16, device=self.device)
            self.keeper = self.capture([("", lambda: self.sweep.add_(0))])  # keeps the pool alive
            self.head_us = self.graph_head()

    def capture(self, program, keep=False):
        graph = torch.cuda.CUDAGraph(keep_graph=True) if keep else torch.cuda.CUDAGraph()
        graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
        try:
            for _, call in program:
                call()
        finally:
            graph.capture_end()
        return graph

    def timed(self, graph, replays):
        """Event to event of back-to-back replays, enqueued while the GPU still spins."""
        events = [torch.cuda.Event(enable_timing=True) for _ in range(replays + 1)]
        torch.cuda._sleep(SPIN_CYCLES)
        for event in events:
            graph.replay()
            event.record()
        return events

    def times(self, events):
        self.stream.synchronize()
        return [a.elapsed_time(b) * 1000 for a, b in zip(events, events[1:])]

    def rested(self, graph):
        """One replay after a rest, at the clock that the card then has; of several ranks, all start
        it together."""
        self.ranks.meet()
        time.sleep(REST_S)
        if self.model.group is not None:
            self.model.group.all_reduce(self.sweep)
            torch.cuda._sleep(SPIN_CYCLES // 2)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        self.stream.synchronize()
        return begin.elapsed_time(end) * 1000 - self.head_us

    def graph_head(self):
        """What a graph takes from event to event beside its kernels (as foretoken-measure does)."""
        def launches(count):
            return self.capture([("", lambda: self.sweep.add_(0))] * count)

        one, many = (statistics.median(self.times(self.timed(launches(n), 30))) for n in (1, 33))
        return one - (many - one) / 32

    def launch_counts(self, program):
        """Kernels that each role launches in one call, read from captured graphs. Layer 1 stands for
        all; layer 0's first norm is another kernel."""
        counts, seen = {}, {}
        if driver is None:
            return counts
        for role, call in program:
            seen[role] = seen.get(role, 0) + 1
            if seen[role] > 2:
                continue
            graph = self.capture([(role, call)], keep=True)
            raw = driver.CUgraph(graph.raw_cuda_graph())
            _, _, count = driver.cuGraphGetNodes(raw, 0)
            _, nodes, _ = driver.cuGraphGetNodes(raw, count)
            kernel = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL
            counts[role, seen[role]] = sum(driver.cuGraphNodeGetType(node)[1] == kernel
                                           for node in nodes)
        return counts

    def sequence(self, program, counts):
        """The role of each kernel of a step, in order."""
        roles, seen = [], {}
        for role, _ in program:
            seen[role] = seen.get(role, 0) + 1
            roles += [role] * counts[role, min(seen[role], 2)]
        return roles

    def measure(self, batch):
        """Times a step; the graph and the role of each of its kernels are kept for the profiler."""
        with torch.cuda.stream(self.stream), torch.no_grad():
            program = self.model.program(
                step_model.DeviceBatch(batch, self.model, self.generator))
            self.launch(program)  # warm up
            host_us, eager_us = [], []
            for _ in range(3):
                host, wall = self.launch(program)
                host_us.append(host)
                eager_us.append(wall)
                if self.ranks.most(wall) > LONG_US:
                    break
            counts = self.launch_counts(program)
            graph = self.capture(program)
            graph_host_us = []
            for _ in range(4):
                self.ranks.meet()
                start = time.perf_counter()
                graph.replay()
                graph_host_us.append((time.perf_counter() - start) * 1e6)
                self.stream.synchronize()
                # A replay more on one rank alone would wait for the others for ever.
                wall = self.ranks.most((time.perf_counter() - start) * 1e6)
                if wall > LONG_US:
                    break
            replays = max(REPLAYS_MIN, min(REPLAYS_MAX, int(REPLAYS_US / wall)))
            events = self.timed(graph, replays)
            time.sleep(replays * wall / 2 * 1e-6)
            clock, power = torch.cuda.clock_rate(self.device), torch.cuda.power_draw(self.device)
            times = sorted(t - self.head_us for t in self.times(events))
            rested_us = self.rested(graph) if batch.prefill else ""
            tenths = statistics.quantiles(times, n=10, method="inclusive")
            roles = self.sequence(program, counts) if counts else []
        row = {"model": self.model.config.name, "tp": self.model.tp,
               "ranks": self.model.world, "phase": batch.phase,
               "prefill": list_text(batch.prefill), "decode": list_text(batch.decode),
               "tokens": batch.tokens, "sequences": batch.sequences,
               "gpu_us": statistics.median(times), "p10_us": tenths[0], "p90_us": tenths[-1],
               "rested_us": rested_us, "replays": replays, "launches": len(roles),
               "graph_host_us": statistics.median(graph_host_us),
               "eager_host_us": statistics.median(host_us), "eager_us": statistics.median(eager_us),
               "sm_clock_mhz": clock, "power_w": power / 1000, "run": batch.run,
               "stands_for": batch.stands_for}
        return row, graph, roles, program  # which owns what the graph reads

    def launch(self, program):
        """A step call by call: until all is enqueued, and until it is done."""
        self.ranks.meet()
        start = time.perf_counter()
        for _, call in program:
            call()
        enqueued = time.perf_counter()
        self.stream.synchronize()
        return (enqueued - start) * 1e6, (time.perf_counter() - start) * 1e6

    def is_late(self):
        return self.ranks.most(time.monotonic() > self.deadline)

    def run(self, batches, on_measured):
        """All batches that the cache and the time have room for: [(row, kernel rows)]. The rows go to
        `on_measured` before a tracer is loaded."""
        done = []
        slots = self.model.cache.shape[2]
        fitting = [batch for batch in batches if batch.slots() <= slots]
        if len(fitting) < len(batches) and self.ranks.index == 0:
            print(f"  {len(batches) - len(fitting)} steps need more KV cache than the {slots} tokens "
                  "that there is room for", flush=True)
        for batch in fitting:
            if self.is_late():
                if self.ranks.index == 0:
                    print(f"  time is up after {len(done)} of {len(batches)} steps", flush=True)
                break
            done.append(self.measure(batch))
            self.ranks.progress(f"{len(done)} of {len(fitting)} steps"
                                if len(done) % PROGRESS_STEPS == 0 else None)
        on_measured([(row, []) for row, *_ in done])
        self.ranks.progress("tracing")
        kernels = self.trace([(graph, roles) for _, graph, roles, _ in done])
        return [(row, rows) for (row, *_), rows in zip(done, kernels)]

    def trace(self, graphs):
        """Replays every graph twice under the profiler and reads the second: rows a role."""
        if driver is None or not graphs:
            return [[] for _ in graphs]
        with torch.cuda.stream(self.stream):
            with profile(activities=[ProfilerActivity.CUDA]) as recorded:
                for graph, _ in graphs:
                    self.ranks.progress()
                    for _ in range(2):
                        graph.replay()
                        self.stream.synchronize()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            recorded.export_chrome_trace(path)
            with open(path) as file:
                events = json.load(file)["traceEvents"]
        kernels = sorted((e for e in events if e.get("cat") == "kernel"), key=lambda e: e["ts"])
        expected = sum(2 * len(roles) for _, roles in graphs)
        if len(kernels) != expected:
            print(f"  the trace has {len(kernels)} kernels instead of {expected}: no times by kernel; "
                  f"it begins {[e['name'][:40] for e in kernels[:30]]}, the first step with "
                  f"{graphs[0][1][:30]}", flush=True)
            return [[] for _ in graphs]
        results, at = [], 0
        for _, roles in graphs:
            at += len(roles)
            results.append(self.by_role(roles, kernels[at:at + len(roles)]))
            at += len(roles)
        return results

    @staticmethod
    def by_role(roles, kernels):
        """Sums over a role; its kernels in the order of one call, each with its usual grid."""
        sums = {}
        for role, event in zip(roles, kernels):
            if role == "attention" and "at::native" in event["name"]:
                role = "attention_copies"  # PyTorch's, around the kernel
            entry = sums.setdefault(role, {"time_us": 0.0, "launches": 0, "kinds": {}})
            entry["time_us"] += event["dur"]
            entry["launches"] += 1
            shape = tuple("x".join(map(str, event["args"].get(k, []))) for k in ("grid", "block"))
            kind = entry["kinds"].setdefault(event["name"], {})
            kind[shape] = kind.get(shape, 0) + 1
        rows = []
        for role, entry in sums.items():
            shapes = [max(kind, key=kind.get) for kind in entry["kinds"].values()]
            rows.append({"role": role, "launches": entry["launches"], "time_us": entry["time_us"],
                         "kernel_name": " + ".join(entry["kinds"]),
                         "grid": " + ".join(s[0] for s in shapes),
                         "block": " + ".join(s[1] for s in shapes)})
        span = kernels[-1]["ts"] + kernels[-1]["dur"] - kernels[0]["ts"] if kernels else 0.0
        return [{"role": "", "time_us": span}] + rows


def build_kernels(folder):
    """step_kernels.cu as a library, for this GPU."""
    here = pathlib.Path(__file__).resolve().parent
    major, minor = torch.cuda.get_device_capability()
    library = pathlib.Path(folder) / "step_kernels.so"
    if shutil.which("nvcc") is None:
        raise SystemExit("nvcc is not on the PATH: add the CUDA toolkit's bin folder")
    subprocess.run(["nvcc", "-O3", "-std=c++20", f"-arch=sm_{major}{minor}", "--shared",
                    "-Xcompiler", "-fPIC", str(here / "step_kernels.cu"), "-o", str(library)],
                   check=True)
    return library


def provenance(model, arguments, error, head_us):
    properties = torch.cuda.get_device_properties(model.device)
    group = model.group
    return {
        "program": "step_executor.py 1", "gpu": properties.name,
        "sm_count": properties.multi_processor_count,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "l2_bytes": properties.L2_cache_size, "torch": torch.__version__,
        "cuda_runtime": torch.version.cuda, "cublas": torch.backends.cuda.preferred_blas_library(),
        "date": datetime.date.today().isoformat(), "source": pathlib.Path(arguments.steps).name if arguments.steps else "grid",
        "framework": "pytorch", "attention": "flash_attention_2",
        "collectives": "none" if group is None else
                       f"nccl {group.version}, captured in the graph; multicast "
                       f"{'off' if os.environ.get('NCCL_NVLS_ENABLE') == '0' else 'as NCCL chooses'}",
        "error_of_check": f"{error:.4f} of a logit's standard deviation",
        "graph_head_us": f"{head_us:.2f}",
        "method": "gpu_us: CUDA graph of the whole step, event to event of back-to-back replays less "
                  "graph_head_us, median; rested_us: one replay after 0.15 s of rest (steps with "
                  "prefill); eager: call by call from Python, eager_host_us until all "
                  "is enqueued, eager_us until it is done; kernels: durations in the profiler's "
                  "trace of a replay, profiled_us from the first kernel's start to the last's end; "
                  "ranks 1 and tp above 1: one rank's share alone, no collectives",
        "lists": "prefill: new tokens x context after the step; decode: context x sequences; "
                 "entries joined by |",
    }


class Tables:
    """NAME.csv and NAME_kernels.csv, written anew whenever there is more to say."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.said, self.done = None, []

    def add(self, said, results):
        """Keeps a layout's steps. What all rows have in common, the first layout says."""
        self.said = self.said or said
        self.done += results
        self.save(self.said, self.done)

    def save(self, said, results):
        rows, kernel_rows = [], []
        for step, (row, kernels) in enumerate(results):
            sums = {"profiled_us": kernels[0]["time_us"],
                    "kernels_us": sum(k["time_us"] for k in kernels[1:])} if kernels else {}
            rows.append(row | sums | {"step": step})
            kernel_rows += [kernel | {"step": step} for kernel in kernels[1:]]
        for suffix, kind, columns, values in (("", "steps", STEP_COLUMNS, rows),
                                              ("_kernels", "step kernels", KERNEL_COLUMNS,
                                               kernel_rows)):
            name = self.path.with_name(self.path.stem + suffix + ".csv")
            with open(name, "w", newline="") as file:
                file.write(f"# format: foretoken {kind} 1\n")
                for key, value in said.items():
                    file.write(f"# {key}: {value}\n")
                writer = csv.DictWriter(file, columns, lineterminator="\n")
                writer.writeheader()
                for row in values:
                    writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v
                                     for k, v in row.items()})


def execute(name, tp, arguments, library, seconds, seed, ranks=None, tables=None):
    """All steps of one model and layout: provenance, and rows with their kernels'. `tables` gets the
    rows before they are traced."""
    ranks = ranks or step_ranks.Ranks()
    began = time.monotonic()
    device = torch.device("cuda", ranks.local)
    torch.cuda.set_device(device)
    group = None
    if ranks.count > 1:
        group, tp = step_ranks.NcclGroup(ranks), ranks.count
        if not group.is_right(device):
            raise SystemExit("NCCL does not add up what the ranks hold")
        ranks.progress(f"NCCL {group.version} is ready")
    kernels = step_model.CudaKernels(library)
    error = step_check.check(kernels, device)
    if not error <= ERROR_MAX:
        raise SystemExit(f"the steps are wrong: logits are {error:.3f} of their standard deviation "
                         f"off, more than {ERROR_MAX}")
    ranks.progress(f"checked: logits within {error:.3f}")
    config = step_model.Config(step_model.specification(name))
    config.layers = arguments.layers or config.layers
    model = step_model.RankModel(config, tp, ranks.index, device, kernels, group=group,
                                 world=ranks.count)
    choose = whole_run if arguments.whole else logged_batches
    batches = (choose(arguments.steps, arguments.sample) if arguments.steps
               else list(grid_batches()))
    random.Random(seed).shuffle(batches)  # what time cuts off is a fair sample; all ranks alike
    free = torch.cuda.mem_get_info(device)[0]
    slots = max(batch.slots() for batch in batches)
    model.allocate_cache(ranks.least(int(min(slots, (CACHE_SHARE * free - ACTIVATION_BYTES)
                                             / model.cache_bytes_per_token()))))
    executor = Executor(model, ranks, seconds - (time.monotonic() - began))
    setup = time.monotonic() - began
    ranks.progress(f"set up in {setup:.1f} s, {model.cache.shape[2]} tokens of cache")
    said = provenance(model, arguments, error, executor.head_us)
    results = executor.run(batches, lambda rows: tables and tables.save(said, rows))
    if ranks.index == 0:
        print(f"{name} tp {tp}: {len(results)} of {len(batches)} steps, logits within "
              f"{error:.3f}, {setup:.1f} s to set up, {time.monotonic() - began:.1f} s in all",
              flush=True)
    return said, results


def execute_rank(name, arguments):
    """This process's part under torchrun. It ends the process, so that torchrun ends the others where
    this one failed."""
    status, ranks = 1, step_ranks.Ranks()
    try:
        tables = Tables(arguments.out) if ranks.index == 0 else None
        ranks.progress("met")
        with tempfile.TemporaryDirectory() as folder:
            torch.cuda.set_device(ranks.local)
            library = ranks.from_first(str(build_kernels(folder)) if ranks.index == 0 else None)
            ranks.progress("kernels are built")
            said, results = execute(name, ranks.count, arguments, library,
                                    TIMING_SHARE * arguments.seconds, 0, ranks, tables)
            ranks.meet()
        if tables:
            tables.add(said, results)
        status = 0
    except BaseException:
        traceback.print_exc()
    ranks.end(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="llama-3.1-8b",
                        help="names in models/specs or TOML files, joined by commas")
    parser.add_argument("--tp", default="",
                        help="ways of sharding, joined by commas (under torchrun: its processes)")
    parser.add_argument("--steps", help="a file of `foretoken simulate --steps`; without it: a grid")
    parser.add_argument("--sample", type=int, default=60, help="so many steps of the file")
    parser.add_argument("--whole", action="store_true",
                        help="steps that add up to the file's run: all with prefill, the others evenly")
    parser.add_argument("--out", default="steps.csv", help="NAME.csv; NAME_kernels.csv beside it")
    parser.add_argument("--seconds", type=float, default=400, help="for everything")
    parser.add_argument("--layers", type=int, help="so many layers instead of all (a quick trial)")
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.seconds
    ranks = int(os.environ.get("WORLD_SIZE", 1))
    ways = [int(tp) for tp in (arguments.tp or str(ranks)).split(",")]
    jobs = [(name, tp) for name in arguments.model.split(",") for tp in ways]
    if ranks > 1:
        if len(jobs) > 1 or ways != [ranks]:
            raise SystemExit(f"torchrun starts the ranks of one layout, here {ranks}: name one model "
                             "and no other --tp")
        execute_rank(arguments.model, arguments)
    tables, failures = Tables(arguments.out), 0
    with tempfile.TemporaryDirectory() as folder:
        library = build_kernels(folder)
        for i, (name, tp) in enumerate(jobs):
            # Tracing takes a share too. A fresh process each: a tracer once loaded stays.
            seconds = TIMING_SHARE * (deadline - time.monotonic()) / (len(jobs) - i)
            try:
                with concurrent.futures.ProcessPoolExecutor(
                        1, multiprocessing.get_context("spawn")) as process:
                    job = (execute, name, tp, arguments, library, seconds, i)
                    tables.add(*process.submit(*job).result())
            except (Exception, SystemExit) as failure:
                failures += 1
                print(f"{name} tp {tp}: failed: {str(failure) or repr(failure)}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

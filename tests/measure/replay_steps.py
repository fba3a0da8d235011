#!/usr/bin/env python3
"""Runs calibration/measure/step_executor.py without PyTorch and without a GPU: a step takes what a data
set of the program's own recorded for it, on clocks of their own for host and GPU.

    replay_steps.py RECORDED.csv ARGUMENTS OF step_executor.py    RECORDED_kernels.csv stands beside it

FORETOKEN_RECORDED_FAULT is "check" (the steps are computed wrongly), "memory" (room for a small cache) or
"trace" (the profiler loses a kernel).
"""
import collections
import csv
import json
import math
import os
import pathlib
import re
import sys
import types

FAULT = os.environ.get("FORETOKEN_RECORDED_FAULT", "")
# The process that each layout runs in knows it from its parent.
RECORDED = pathlib.Path(os.environ.get("FORETOKEN_RECORDED") or sys.argv[1])
os.environ["FORETOKEN_RECORDED"] = str(RECORDED)
SMALL_US = 0.5  # a kernel that only probes
MEASURE = pathlib.Path(__file__).resolve().parents[2] / "calibration" / "measure"


def read(path):
    with open(path) as file:
        lines = file.read().splitlines()
    said = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    return said, list(csv.DictReader(line for line in lines if not line.startswith("#")))


SAID, ROWS = read(RECORDED)
KERNELS = collections.defaultdict(dict)
for kernel in read(RECORDED.with_name(RECORDED.stem + "_kernels.csv"))[1]:
    KERNELS[kernel["step"]][kernel["role"]] = kernel
HEAD_US = float(SAID["graph_head_us"])


class Clocks:
    """Of the host and of the GPU in microseconds, and the step that both are at."""

    def __init__(self):
        self.host = self.gpu = 0.0
        self.row, self.calls, self.eager_start = None, 1, None
        self.captured, self.trace, self.replays, self.is_rested = None, None, None, False

    def value(self, column):
        return float(self.row[column])

    def wait(self):
        if self.eager_start is not None:  # a step call by call ends as it was recorded
            self.gpu = self.eager_start + self.value("eager_us")
            self.eager_start = None
        self.host = max(self.host, self.gpu)

    def call(self):
        """One call of a step from Python."""
        if self.eager_start is None:
            self.eager_start = self.host
        self.host += self.value("eager_host_us") / self.calls

    def step_us(self, row):
        """The replay at hand; percentiles of those after the first are the recorded ones."""
        low, middle, high = (float(row[column]) for column in ("p10_us", "gpu_us", "p90_us"))
        if self.is_rested and row["rested_us"]:
            return float(row["rested_us"])
        if not self.replays:
            return middle
        last, at = int(row["replays"]) - 1, self.replays - 1
        rank = at // 2 if at % 2 == 0 else last - at // 2
        if last < 4:  # the tenth lies between the smallest and the median
            share = 0.1 * last
            low, high = ((edge - share * middle) / (1 - share) for edge in (low, high))
            return low if rank == 0 else high if rank == last else middle
        return (low if rank <= math.ceil(0.1 * last) else
                high if rank >= math.floor(0.9 * last) else middle)


CLOCKS = Clocks()


class Graph:
    def __init__(self, keep_graph=False):
        self.kernels, self.row = [], CLOCKS.row

    def capture_begin(self, pool=None, capture_error_mode=None):
        CLOCKS.captured = self.kernels

    def capture_end(self):
        CLOCKS.captured = None

    def raw_cuda_graph(self):
        return self

    def replay(self):
        is_step = any(kernel["role"] for kernel in self.kernels)
        us = CLOCKS.step_us(self.row) if is_step else SMALL_US * len(self.kernels)
        CLOCKS.gpu = max(CLOCKS.gpu, CLOCKS.host)
        CLOCKS.host += float(self.row["graph_host_us"]) if is_step else 1
        if CLOCKS.trace is not None:
            us = max(us, float(self.row["profiled_us"]))
            idle = float(self.row["profiled_us"]) - float(self.row["kernels_us"])
            ts = CLOCKS.gpu
            for kernel in self.kernels:
                CLOCKS.trace.append(kernel | {"ts": ts})
                ts += kernel["dur"] + idle / (len(self.kernels) - 1)
        CLOCKS.gpu += HEAD_US + us
        CLOCKS.is_rested = False
        if CLOCKS.replays is not None:
            CLOCKS.replays += 1


class Event:
    def __init__(self, enable_timing=False):
        assert enable_timing

    def record(self):
        self.us = CLOCKS.gpu = max(CLOCKS.gpu, CLOCKS.host)

    def elapsed_time(self, later):
        return (later.us - self.us) / 1000


class Tensor:
    """A shape, as far as the program asks for one; everything else gives another."""

    def __init__(self, *shape):
        self.shape = shape

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **keywords: self

    def __getitem__(self, index):
        return Tensor(*self.shape[1:]) if isinstance(index, int) else self

    def __iter__(self):
        return iter([Tensor(*self.shape[1:]) for _ in range(self.shape[0])])

    def __setitem__(self, index, value):
        pass

    def same(self, *_):
        return self

    __add__ = __radd__ = __sub__ = __mul__ = __truediv__ = __mod__ = __neg__ = same
    __lt__ = __ge__ = __or__ = __rpow__ = same

    def chunk(self, count, dim=0):
        return (self,) * count

    def add_(self, value):
        if CLOCKS.captured is not None:
            CLOCKS.captured.append({"role": "", "name": "probe", "dur": SMALL_US})
        return self


class Nothing:
    def __init__(self, *arguments, **keywords):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        return False

    def manual_seed(self, seed):
        return self


class DType:
    itemsize = 2


class Stream(Nothing):
    cuda_stream = 0

    def synchronize(self):
        CLOCKS.wait()


class Profile(Nothing):
    def __enter__(self):
        CLOCKS.trace = []
        return self

    def __exit__(self, *failure):
        self.events, CLOCKS.trace = CLOCKS.trace[FAULT == "trace":], None

    def export_chrome_trace(self, path):
        events = [{"cat": "kernel", "name": k["name"], "ts": k["ts"], "dur": k["dur"],
                   "args": {"grid": k["grid"], "block": k["block"]}} for k in self.events]
        with open(path, "w") as file:
            json.dump({"traceEvents": [{"cat": "overhead", "ts": 0}] + events[::-1]}, file)


def spin(cycles):
    CLOCKS.gpu = max(CLOCKS.gpu, CLOCKS.host) + 1000
    CLOCKS.replays = 0


def sleep(seconds):
    CLOCKS.host += 1e6 * seconds
    if CLOCKS.host > CLOCKS.gpu:
        CLOCKS.replays, CLOCKS.is_rested = None, seconds > 0.1


def module(name, **contents):
    sys.modules[name] = made = types.ModuleType(name)
    vars(made).update(contents)
    return made


def shape(*sizes, **keywords):
    return Tensor(*sizes)


def properties(device=None):
    major, minor = SAID["compute_capability"].split(".")
    return types.SimpleNamespace(name=SAID["gpu"], multi_processor_count=int(SAID["sm_count"]),
                                 major=int(major), minor=int(minor), L2_cache_size=int(SAID["l2_bytes"]))


memory = (12e9 if FAULT == "memory" else 140e9, 150e9)
cuda = module(
    "torch.cuda", Stream=Stream, CUDAGraph=Graph, Event=Event, _sleep=spin, stream=Nothing,
    graph_pool_handle=lambda: 0, current_stream=Stream, set_device=lambda device: None,
    clock_rate=lambda device: int(CLOCKS.row["sm_clock_mhz"]),
    power_draw=lambda device: 1000 * CLOCKS.value("power_w"),
    get_device_capability=lambda: tuple(map(int, SAID["compute_capability"].split("."))),
    get_device_properties=properties, mem_get_info=lambda device: memory)
module("torch", cuda=cuda, Tensor=Tensor, Generator=Nothing, no_grad=Nothing, zeros=shape, empty=shape,
       ones=shape, tensor=shape, arange=shape, outer=shape, randint=lambda high, size, **_: Tensor(*size),
       cat=lambda parts, *_: parts[0], repeat_interleave=lambda x, n: x,
       device=lambda kind, index: f"{kind}:{index}", bfloat16=DType(),
       float32="float32", int32="int32", __version__=SAID["torch"],
       version=types.SimpleNamespace(cuda=SAID["cuda_runtime"]),
       backends=types.SimpleNamespace(cuda=types.SimpleNamespace(
           preferred_blas_library=lambda: SAID["cublas"])),
       nn=types.SimpleNamespace(functional=types.SimpleNamespace(linear=lambda x, w, b=None: x)))
module("torch.profiler", ProfilerActivity=types.SimpleNamespace(CUDA=0), profile=Profile)
module("cuda")
module("cuda.bindings", driver=types.SimpleNamespace(
    CUgraph=lambda raw: raw, CUgraphNodeType=types.SimpleNamespace(CU_GRAPH_NODE_TYPE_KERNEL=0),
    cuGraphGetNodes=lambda graph, count: (0, graph.kernels, len(graph.kernels)),
    cuGraphNodeGetType=lambda node: (0, 0)))
sys.path.insert(0, str(MEASURE))
import step_check  # noqa: E402
import step_executor  # noqa: E402
import step_model  # noqa: E402


class Kernels(Nothing):
    """Every kernel of a step; a call launches what was recorded of its role (in `program`)."""

    def __getattr__(self, name):
        return lambda x, *arguments: x


def launches(role, occurrence, calls):
    """The kernels of one call of a role: those of the recording, shared out evenly."""
    kernels = []
    for each in ([role + "_copies"] if role == "attention" else []) + [role]:
        recorded = KERNELS[CLOCKS.row["step"]].get(each)
        if recorded is None:
            continue
        total = int(recorded["launches"])
        assert total % calls == 0, f"{total} launches in {calls} calls of {role}"
        names = recorded["kernel_name"].split(" + ")
        shapes = [[list(map(int, re.findall(r"\d+", part))) for part in recorded[column].split(" + ")]
                  for column in ("grid", "block")]
        for i in range(total // calls):
            kind = min(occurrence if total // calls < len(names) else i, len(names) - 1)
            kernels.append({"role": role, "name": names[kind], "grid": shapes[0][kind],
                            "block": shapes[1][kind], "dur": float(recorded["time_us"]) / total})
    return kernels


class RankModel(step_model.RankModel):
    def program(self, batch):
        wanted = tuple(map(str, (self.config.name, self.tp))) + (
            step_executor.list_text(batch.batch.prefill), step_executor.list_text(batch.batch.decode))
        CLOCKS.row = next(row for row in ROWS if wanted == tuple(
            row[column] for column in ("model", "tp", "prefill", "decode")))
        CLOCKS.replays = None
        steps = super().program(batch)
        counts = collections.Counter(role for role, _ in steps)
        CLOCKS.calls, seen = len(steps), collections.Counter()

        def recorded(role, call):
            kernels = launches(role, seen[role], counts[role])
            seen[role] += 1

            def run():
                call()
                if CLOCKS.captured is None:
                    CLOCKS.call()
                else:
                    CLOCKS.captured += kernels
            return role, run

        return [recorded(*step) for step in steps]


step_model.CudaKernels, step_model.RankModel = Kernels, RankModel
step_check.check = lambda kernels, device: 0.5 if FAULT == "check" else float(SAID["error_of_check"].split()[0])
step_executor.time = types.SimpleNamespace(perf_counter=lambda: CLOCKS.host / 1e6, sleep=sleep,
                                           monotonic=lambda: CLOCKS.host / 1e6)

if __name__ == "__main__":
    sys.argv[:2] = [str(MEASURE / "step_executor.py")]
    sys.exit(step_executor.main())

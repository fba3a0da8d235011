#!/usr/bin/env python3
"""Times the attention kernels that PyTorch ships, by the method of foretoken-measure.

FlashAttention-2 (dense, and with variable lengths: chunked prefill and mixed batches) and cuDNN are
called through PyTorch because they have no interface of their own that is installed everywhere.
Each time is that of one launch in a CUDA graph of launches on different random-normal buffers, with
L2 swept before each replay. The keys are dense, not paged. Writes the dataset format.
"""

import argparse
import csv
import ctypes
import datetime
import math
import random
import statistics
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

try:
    from cuda.bindings import driver
except ImportError:  # the kernels' names stay empty
    driver = None

BF16_BYTES = 2
GRAPH_US, REPEATS_US, SWEEP_US, SETTLE_MS = 300.0, 8000.0, 60.0, 40.0  # as in stopwatch.cu
LAUNCHES_MAX, REPEATS_MIN, REPEATS_MAX = 64, 7, 15
REST_S, SUSTAINED_FROM_US, SUSTAINED_REPEATS = 0.008, 100.0, 5
HEADS = [(32, 8), (64, 8), (16, 2), (8, 1), (40, 8), (20, 4), (28, 4), (14, 2), (4, 1), (32, 32),
         (16, 16), (8, 8), (12, 2), (48, 8), (24, 8), (6, 1)]
COLUMNS = ["kernel", "framework", "kernel_source", "query_heads", "kv_heads", "head_dim",
           "query_tokens", "context_tokens", "dtype", "kv_dtype", "causal", "time_us", "p10_us",
           "p90_us", "warm_us", "sm_clock_mhz", "sustained_us", "sustained_clock_mhz", "launches",
           "repeats", "pass", "kernel_name",
           "grid", "block", "dynamic_shared_bytes", "registers"]


def demangled(name):
    """The C++ name of a kernel, by the runtime library's own function."""
    library = ctypes.CDLL("libstdc++.so.6")
    library.__cxa_demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    text = library.__cxa_demangle(name.encode(), None, None, ctypes.byref(status))
    return ctypes.string_at(text).decode() if status.value == 0 and text else name


def run_lengths(values):
    """[5, 5, 5, 1] -> "5*3|1": the list notation of the datasets."""
    parts, i = [], 0
    while i < len(values):
        j = i
        while j < len(values) and values[j] == values[i]:
            j += 1
        parts.append(f"{values[i]}*{j - i}" if j - i > 1 else str(values[i]))
        i = j
    return "|".join(parts)


def prefill_case(draw):
    tokens = draw.choice([16, 64, 128, 200, 256, 512, 777, 1024, 1500, 2048, 3072, 4096, 8192, 16384])
    batch = draw.choice([b for b in (1, 2, 3, 4, 8, 16, 32) if b * tokens <= 32768])
    return [tokens] * batch, [tokens] * batch


def decode_case(draw):
    context = int(2 ** draw.uniform(5, 17))
    batch = draw.choice([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256])
    return [1] * batch, [context] * batch


def ragged_case(draw):
    """Chunks of prefill on top of cached tokens, with or without decoding requests beside them."""
    queries, contexts = [], []
    for _ in range(draw.choice([0, 0, 1, 4, 16, 64, 128])):
        queries.append(1)
        contexts.append(int(2 ** draw.uniform(5, 14)))
    for _ in range(draw.choice([1, 1, 2, 4, 8])):
        chunk = int(2 ** draw.uniform(4, 12))
        queries.append(chunk)
        contexts.append(chunk + draw.choice([0, 0, int(2 ** draw.uniform(4, 15))]))
    return queries, contexts


def draw_cases(seed, count):
    draw = random.Random(seed)
    kinds = [("torch_flash", prefill_case), ("torch_flash", decode_case),
             ("torch_flash_varlen", ragged_case), ("torch_cudnn", prefill_case),
             ("torch_cudnn", decode_case)]
    for i in range(count):
        source, make = kinds[i % len(kinds)]
        queries, contexts = make(draw)
        heads, kv_heads = draw.choice(HEADS)
        head_dim = draw.choice([64, 128, 128, 128, 128, 256])
        if source == "torch_cudnn" and head_dim == 256:
            head_dim = 128
        work = sum(q * c for q, c in zip(queries, contexts)) * heads * head_dim
        kv_bytes = 2 * sum(contexts) * kv_heads * head_dim * BF16_BYTES
        if work < 6e11 and kv_bytes < 6e9:
            yield source, heads, kv_heads, head_dim, queries, contexts


class Bench:
    def __init__(self, device):
        self.device = device
        properties = torch.cuda.get_device_properties(device)
        self.pool = torch.empty(8_000_000_000, dtype=torch.bfloat16, device=device)
        for piece in self.pool.split(500_000_000):
            piece.normal_()
        self.sweep = torch.ones(3 * properties.L2_cache_size // 4, dtype=torch.int32, device=device)
        self.stream = torch.cuda.Stream(device)
        self.graph_pool = torch.cuda.graph_pool_handle()
        with torch.cuda.stream(self.stream):  # one graph must live for its pool to live
            self.keeper = self.capture(lambda i: self.sweep[:1].add_(0), 1, False)
            self.graph_head_us = self.measure_graph_head()

    def operation(self, source, heads, kv_heads, head_dim, queries, contexts):
        """A function of a launch's number, and how many launches have room."""
        q_size = sum(queries) * heads * head_dim
        kv_size = sum(contexts) * kv_heads * head_dim
        stride = (q_size + 2 * kv_size + 511) // 512 * 512
        batch = len(queries)

        def piece(i, offset, tokens, head_count):
            start = i * stride + offset
            return self.pool[start:start + tokens * head_count * head_dim].view(
                tokens, head_count, head_dim)

        def tensors(i):
            return (piece(i, 0, sum(queries), heads), piece(i, q_size, sum(contexts), kv_heads),
                    piece(i, q_size + kv_size, sum(contexts), kv_heads))

        if source == "torch_flash_varlen":
            def offsets(lengths):
                sums = torch.tensor([0] + lengths, dtype=torch.int32, device=self.device)
                return sums.cumsum(0, dtype=torch.int32)
            q_offsets, kv_offsets = offsets(queries), offsets(contexts)

            def call(i):
                q, k, v = tensors(i)
                torch.ops.aten._flash_attention_forward(q, k, v, q_offsets, kv_offsets, max(queries),
                                                        max(contexts), 0.0, True, False)
        else:
            backend = (SDPBackend.FLASH_ATTENTION if source == "torch_flash"
                       else SDPBackend.CUDNN_ATTENTION)
            causal = queries[0] > 1

            def call(i):
                q, k, v = (t.view(batch, -1, t.shape[1], head_dim).transpose(1, 2)
                           for t in tensors(i))
                with sdpa_kernel(backend):
                    torch.nn.functional.scaled_dot_product_attention(
                        q, k, v, is_causal=causal, enable_gqa=heads != kv_heads)
        return call, self.pool.numel() // stride

    def capture(self, call, launches, rotate, keep=False):
        graph = torch.cuda.CUDAGraph(keep_graph=True) if keep else torch.cuda.CUDAGraph()
        graph.capture_begin(pool=self.graph_pool)
        try:
            for i in range(launches):
                call(i if rotate else 0)
        finally:
            graph.capture_end()
        return graph

    def replay(self, graph, launches, repeats, sweep):
        graph.replay()
        events = []
        for _ in range(repeats):
            if sweep:
                self.sweep.max()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            events.append((begin, end))
        self.stream.synchronize()
        return [(begin.elapsed_time(end) * 1000 - self.graph_head_us) / launches
                for begin, end in events]

    def measure_graph_head(self):
        """What a graph takes from event to event beside its kernels, as in stopwatch.cu."""
        self.graph_head_us = 0.0
        one, many = (statistics.median(self.replay(
            self.capture(lambda i: self.sweep[:1].add_(0), count, False), 1, 15, False))
            for count in (1, 33))
        return one - (many - one) / 32

    def settle(self, graph):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        spent = 0.0
        while spent < SETTLE_MS:
            begin.record()
            for _ in range(4):
                graph.replay()
            end.record()
            self.stream.synchronize()
            spent += begin.elapsed_time(end)

    def measure(self, case):
        with torch.cuda.stream(self.stream), torch.no_grad():
            call, room = self.operation(*case)
            if room < 1:
                raise RuntimeError("no room")
            call(0)
            guess = max(0.5, statistics.median(
                self.replay(self.capture(call, 1, False), 1, 3, False)))
            launches = max(1, min(LAUNCHES_MAX, room, math.ceil(GRAPH_US / guess)))
            repeats = int(REPEATS_US / (launches * guess + SWEEP_US))
            repeats = max(REPEATS_MIN, min(REPEATS_MAX, repeats))
            graph = self.capture(call, launches, True)
            time.sleep(REST_S)
            cold = sorted(self.replay(graph, launches, repeats, True))
            clock = torch.cuda.clock_rate(self.device)
            warm, sustained, sustained_clock = "", "", ""
            if statistics.median(cold) >= SUSTAINED_FROM_US:
                self.settle(graph)
                sustained = statistics.median(
                    self.replay(graph, launches, SUSTAINED_REPEATS, True))
                sustained_clock = torch.cuda.clock_rate(self.device)
            if statistics.median(cold) < 100:
                graph = self.capture(call, launches, False)
                warm = statistics.median(self.replay(graph, launches, 5, False))
            tenths = statistics.quantiles(cold, n=10, method="inclusive")
            names = self.identify(call)
            return [statistics.median(cold), tenths[0], tenths[-1], warm, clock, sustained,
                    sustained_clock, launches, repeats, 0] + names

    def identify(self, call):
        if driver is None:
            return [""] * 5
        graph = self.capture(call, 1, False, keep=True)
        raw = driver.CUgraph(graph.raw_cuda_graph())
        _, _, count = driver.cuGraphGetNodes(raw, 0)
        _, nodes, _ = driver.cuGraphGetNodes(raw, count)
        rows = []
        for node in nodes:
            if driver.cuGraphNodeGetType(node)[1] != driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL:
                continue
            p = driver.cuGraphKernelNodeGetParams(node)[1]
            function = p.func
            if int(function) == 0:
                function = driver.cuKernelGetFunction(p.kern)[1]
            name = driver.cuFuncGetName(function)[1].decode()
            registers = driver.cuFuncGetAttribute(
                driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_NUM_REGS, function)[1]
            rows.append((demangled(name), f"{p.gridDimX}x{p.gridDimY}x{p.gridDimZ}",
                         f"{p.blockDimX}x{p.blockDimY}x{p.blockDimZ}", str(p.sharedMemBytes),
                         str(registers)))
        return [" + ".join(column) for column in zip(*rows)] if rows else [""] * 5


def provenance(device, seed):
    properties = torch.cuda.get_device_properties(device)
    return {
        "format": "foretoken dataset 1", "program": "attention_torch.py 1", "gpu": properties.name,
        "sm_count": properties.multi_processor_count, "l2_bytes": properties.L2_cache_size,
        "torch": torch.__version__, "cuda_runtime": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(), "date": datetime.date.today().isoformat(),
        "seed": seed,
        "method": "as foretoken-measure: CUDA graph of `launches` launches on different "
                  "random-normal buffers; L2 swept before each of `repeats` replays; (event time - "
                  "graph head) / launches; median, 10th, 90th percentile; a rest of 8 ms before; warm_us: one "
                  "buffer, no sweep; sustained_us: launches of 100 us or more, after 40 ms of the "
                  "same kernel; "
                  "sm_clock_mhz read once after the replays; keys and values dense, not paged",
        "lists": "query_tokens and context_tokens: value*count joined by |; context includes "
                 "queries",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="attention_torch.csv")
    parser.add_argument("--seconds", type=float, default=150)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--repeat", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    device = torch.device("cuda", 0)
    bench = Bench(device)
    start, done, failed, first_failure = time.monotonic(), [], 0, ""
    with open(arguments.out, "w", newline="") as file:
        for key, value in provenance(device, arguments.seed).items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)

        def one(case, repeated):
            source, heads, kv_heads, head_dim, queries, contexts = case
            values = bench.measure(case)
            values[9] = repeated
            writer.writerow(
                ["attention", "pytorch", source, heads, kv_heads, head_dim, run_lengths(queries),
                 run_lengths(contexts), "bf16", "bf16", 1]
                + [f"{v:.6g}" if isinstance(v, float) else v for v in values])

        for case in draw_cases(arguments.seed, arguments.count):
            if time.monotonic() - start > arguments.seconds:
                break
            try:
                one(case, 0)
                done.append(case)
            except RuntimeError as error:
                failed += 1
                first_failure = first_failure or str(error)[:300]
        for case in done[:arguments.repeat]:
            one(case, 1)
    print(f"attention: {len(done)} shapes, {failed} failed, {time.monotonic() - start:.1f} s "
          f"{first_failure}")


if __name__ == "__main__":
    main()

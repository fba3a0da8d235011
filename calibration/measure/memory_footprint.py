#!/usr/bin/env python3
"""Measures what an engine's process takes of a GPU besides weights and KV cache, and its host link.

CUDA's context, code of kernels, sampling, CUDA graphs of a stack like Llama 3.1 8B's; what copies
between the GPU and pinned host memory reach, whole and in pieces. Writes one quantity a line.
sim/serving/memory_plan.cpp and hardware/cluster.hpp take their constants from it.
"""

import argparse
import datetime
import gc
import subprocess
import time

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

ROWS, VOCABULARY = 256, 128256  # vLLM's sequences by default, Llama 3.1's vocabulary
HIDDEN, INTERMEDIATE, LAYERS, QKV = 4096, 14336, 32, 6144
# What vLLM captures with 256 sequences.
GRAPH_SIZES = [1, 2, 4] + list(range(8, 257, 8)) + list(range(272, 513, 16))
COPY_BYTES = 1 << 30
PIECES = (16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 8 << 20)


def smi(field):
    query = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits", "-i", "0"]
    return subprocess.run(query, capture_output=True, text=True).stdout.strip()


def on_gpu(*shape, dtype=torch.bfloat16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def free():
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]


def non_torch():
    torch.cuda.synchronize()
    left, total = torch.cuda.mem_get_info()
    return total - left - torch.cuda.memory_reserved()


def peak(call):
    torch.cuda.empty_cache()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def sample(sorts):
    """As vLLM's profile run samples a row for each sequence with top-p, on PyTorch alone."""
    logits = on_gpu(ROWS, VOCABULARY)
    scores = logits.to(torch.float32)
    if sorts:
        values, index = scores.sort(dim=-1)
        scores = values.scatter(dim=-1, index=index, src=values)
    probabilities = scores.softmax(dim=-1, dtype=torch.float32)
    noise = torch.empty_like(probabilities).exponential_()
    return probabilities.div_(noise).argmax(dim=-1)


def timed(call, repeats=5):
    call()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def measure_memory(row):
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    row("cuda_total", "mem_get_info", torch.cuda.mem_get_info()[1], "B")
    base = non_torch()
    row("context", "after the first allocation", base, "B")

    def growth(detail):
        row("non_torch_growth", detail, non_torch() - base, "B")

    states = on_gpu(2048, HIDDEN)
    gate_up = on_gpu(2 * INTERMEDIATE, HIDDEN)
    wide = states @ gate_up.T
    growth("matmul bf16")
    functional.silu(wide)
    growth("silu")
    queries = on_gpu(1, 32, 2048, 128)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        functional.scaled_dot_product_attention(queries, queries, queries, is_causal=True)
    growth("flash attention")
    del wide, queries
    for sorts, detail in ((False, "softmax and exponential"), (True, "with a sort")):
        per_token = peak(lambda: sample(sorts)) / (ROWS * VOCABULARY)
        row("sampler_peak", f"{detail}: bytes a row and token", per_token, "B")
    growth("sampler")
    measure_graphs(row, states, gate_up)
    growth("graphs")
    gc.collect()
    torch.cuda.empty_cache()
    growth("graphs released")


@torch.no_grad()
def measure_graphs(row, states, gate_up):
    qkv, output, down = on_gpu(QKV, HIDDEN), on_gpu(HIDDEN, HIDDEN), on_gpu(HIDDEN, INTERMEDIATE)
    scale = torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16)

    def forward(residual):
        for _ in range(LAYERS):
            normed = functional.rms_norm(residual, (HIDDEN,), scale)
            residual = residual + (normed @ qkv.T)[:, :HIDDEN] @ output.T
            normed = functional.rms_norm(residual, (HIDDEN,), scale)
            up = normed @ gate_up.T
            active = functional.silu(up[:, :INTERMEDIATE]) * up[:, INTERMEDIATE:]
            residual = residual + active @ down.T
        return residual

    inputs = on_gpu(GRAPH_SIZES[-1], HIDDEN)
    with torch.cuda.stream(torch.cuda.Stream()):
        forward(inputs)
    row("forward_peak", "2048 tokens of this stack, eager", peak(lambda: forward(states)), "B")
    torch.cuda.empty_cache()
    before, pool, graphs = free(), None, []
    for size in reversed(GRAPH_SIZES):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            result = forward(inputs[:size])
        pool = graph.pool()
        graphs.append((graph, result))
        if len(graphs) in (1, 2, 10, len(GRAPH_SIZES)):
            detail = f"{len(graphs)} graphs of {LAYERS} layers, largest {GRAPH_SIZES[-1]}"
            row("graph_pool", detail, before - free(), "B")


def measure_copies(row):
    def pair(size):
        on_host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        return torch.empty(size, dtype=torch.uint8, device="cuda"), on_host

    gpu, host = pair(COPY_BYTES)
    gpu_2, host_2 = pair(COPY_BYTES)
    ways = {"h2d": (gpu, host), "d2h": (host, gpu)}
    for way, (to, source) in ways.items():
        took = timed(lambda: to.copy_(source, non_blocking=True))
        row("copy", f"{way} 1 GiB", COPY_BYTES / took / 1e9, "GB/s")
    streams = torch.cuda.Stream(), torch.cuda.Stream()

    def both_ways():
        with torch.cuda.stream(streams[0]):
            gpu.copy_(host, non_blocking=True)
        with torch.cuda.stream(streams[1]):
            host_2.copy_(gpu_2, non_blocking=True)

    row("copy", "both ways at once each way", COPY_BYTES / timed(both_ways) / 1e9, "GB/s")
    for piece in PIECES:
        count = min(2048, COPY_BYTES // piece)
        for way, sides in ways.items():
            to, source = (side[: count * piece].view(count, piece).unbind(0) for side in sides)

            def copy_all():
                for target, part in zip(to, source):
                    target.copy_(part, non_blocking=True)

            rate = count * piece / timed(copy_all, 3) / 1e9
            row("copy_pieces", f"{way} {count} x {piece >> 10} KiB", rate, "GB/s")
    small, small_host = pair(4096)
    took = timed(lambda: small.copy_(small_host, non_blocking=True), 50)
    row("copy_latency", "h2d 4 KiB and wait", took * 1e6, "us")
    row("copy_latency", "empty synchronize", timed(lambda: None, 50) * 1e6, "us")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="memory_footprint.csv", help="file to write")
    with open(parser.parse_args().out, "w", encoding="utf-8") as out:
        for key, value in (
            ("format", "foretoken dataset 1"),
            ("program", "memory_footprint.py 1"),
            ("gpu", torch.cuda.get_device_name(0)),
            ("driver", smi("driver_version")),
            ("torch", torch.__version__),
            ("date", datetime.date.today().isoformat()),
            ("method", "cudaMemGetInfo before and after; copies: best of several, wall clock"),
        ):
            out.write(f"# {key}: {value}\n")
        out.write("quantity,detail,value,unit\n")

        def row(quantity, detail, value, unit):
            print(f"{quantity},{detail},{value},{unit}", file=out, flush=True)

        row("smi_total", "nvidia-smi", smi("memory.total"), "MiB")
        row("smi_reserved", "nvidia-smi", smi("memory.reserved"), "MiB")
        row("smi_used_before", "nvidia-smi", smi("memory.used"), "MiB")
        row("pcie", "gen.max", smi("pcie.link.gen.max"), "")
        row("pcie", "width.max", smi("pcie.link.width.max"), "")
        measure_memory(row)
        measure_copies(row)


if __name__ == "__main__":
    main()

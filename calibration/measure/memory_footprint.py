#!/usr/bin/env python3
"""Measures what an engine's process takes of a GPU besides weights and KV cache (CUDA's context, code
of kernels, sampling, CUDA graphs of a stack like Llama 3.1 8B's), and what copies between the GPU
and pinned host memory reach, whole and in pieces. Writes one quantity a line.

sim/serving/memory_plan.cpp and hardware/cluster.hpp take their constants from it.
"""

import argparse
import datetime
import gc
import subprocess
import time

import torch

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--out", default="memory_footprint.csv", help="file to write")
arguments = parser.parse_args()
out = open(arguments.out, "w")


def row(quantity, detail, value, unit):
    line = f"{quantity},{detail},{value},{unit}"
    print(line, flush=True)
    out.write(line + "\n")
    out.flush()


def smi(field):
    return subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits", "-i", "0"],
                          capture_output=True, text=True).stdout.strip()
for key, value in (
    ("format", "foretoken dataset 1"),
    ("program", "memory_footprint.py 1"),
    ("gpu", torch.cuda.get_device_name(0)),
    ("driver", smi("driver_version")),
    ("torch", torch.__version__),
    ("date", datetime.date.today().isoformat()),
    ("method", "free memory by cudaMemGetInfo before and after; copies: best of several, wall clock"),
):
    out.write(f"# {key}: {value}\n")
out.write("quantity,detail,value,unit\n")
row("smi_total", "nvidia-smi", smi("memory.total"), "MiB")
row("smi_reserved", "nvidia-smi", smi("memory.reserved"), "MiB")
row("smi_used_before", "nvidia-smi", smi("memory.used"), "MiB")
row("pcie", "gen.max", smi("pcie.link.gen.max"), "")
row("pcie", "width.max", smi("pcie.link.width.max"), "")

def free():
    torch.cuda.synchronize(); return torch.cuda.mem_get_info()[0]
def non_torch():
    f, t = torch.cuda.mem_get_info(); return t - f - torch.cuda.memory_reserved()

torch.cuda.init(); torch.cuda.set_device(0)
x = torch.zeros(1, device="cuda"); torch.cuda.synchronize()
f, t = torch.cuda.mem_get_info()
row("cuda_total", "mem_get_info", t, "B")
row("context", "after the first allocation", non_torch(), "B")
base = non_torch()
def step(name):
    torch.cuda.synchronize(); row("non_torch_growth", name, non_torch() - base, "B")

a = torch.randn(2048, 4096, device="cuda", dtype=torch.bfloat16)
w = torch.randn(28672, 4096, device="cuda", dtype=torch.bfloat16)
y = a @ w.T; step("matmul bf16")
z = torch.nn.functional.silu(y); step("silu")
q = torch.randn(1, 32, 2048, 128, device="cuda", dtype=torch.bfloat16)
with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
    o = torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
step("flash attention")
del y, z, q, o

# Sampler: rows x vocabulary as vLLM's profile run has them, native PyTorch.
R, V = 256, 128256
def peak(fn):
    torch.cuda.empty_cache(); torch.cuda.synchronize(); torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated(); fn(); torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
def sample(sort):
    logits = torch.randn(R, V, device="cuda", dtype=torch.bfloat16)
    l = logits.to(torch.float32)
    if sort:
        s, i = l.sort(dim=-1)
        s = s.scatter(dim=-1, index=i, src=s); l = s
    p = l.softmax(dim=-1, dtype=torch.float32)
    e = torch.empty_like(p).exponential_()
    return p.div_(e).argmax(dim=-1)
row("sampler_peak", "softmax and exponential: bytes a row and token", peak(lambda: sample(False)) / (R * V), "B")
row("sampler_peak", "with a sort: bytes a row and token", peak(lambda: sample(True)) / (R * V), "B")
step("sampler")

# Graph pools: a Llama-8B-like stack, 32 layers, every capture size of vLLM.
H, I, L = 4096, 14336, 32
wqkv = torch.randn(6144, H, device="cuda", dtype=torch.bfloat16)
wo = torch.randn(H, H, device="cuda", dtype=torch.bfloat16)
wgu = torch.randn(2 * I, H, device="cuda", dtype=torch.bfloat16)
wd = torch.randn(H, I, device="cuda", dtype=torch.bfloat16)
g = torch.ones(H, device="cuda", dtype=torch.bfloat16)
def forward(h):
    r = h
    for _ in range(L):
        n = torch.nn.functional.rms_norm(r, (H,), g)
        qkv = n @ wqkv.T
        r = r + qkv[:, :H] @ wo.T
        n = torch.nn.functional.rms_norm(r, (H,), g)
        u = n @ wgu.T
        r = r + (torch.nn.functional.silu(u[:, :I]) * u[:, I:]) @ wd.T
    return r
sizes = [1, 2, 4] + list(range(8, 257, 8)) + list(range(272, 513, 16))
static = torch.randn(512, H, device="cuda", dtype=torch.bfloat16)
with torch.no_grad():
    side = torch.cuda.Stream()
    with torch.cuda.stream(side): forward(static)
    torch.cuda.synchronize(); torch.cuda.empty_cache()
    row("forward_peak", "2048 tokens of this stack, eager", peak(lambda: forward(a)), "B")
    torch.cuda.empty_cache()
    before, pool, graphs = free(), None, []
    for n, size in enumerate(reversed(sizes)):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool): out_t = forward(static[:size])
        pool = graph.pool(); graphs.append((graph, out_t))
        if n in (0, 1, 9, len(sizes) - 1):
            torch.cuda.synchronize()
            row("graph_pool", f"{n + 1} graphs of {L} layers, largest 512", before - free(), "B")
    step("graphs")
    del graphs, graph, out_t
gc.collect()
torch.cuda.empty_cache()
step("graphs released")

# Copies: pinned memory, whole and in pieces, alone and both ways at once.
size = 1 << 30
dev = torch.empty(size, dtype=torch.uint8, device="cuda"); host = torch.empty(size, dtype=torch.uint8, pin_memory=True)
dev2 = torch.empty(size, dtype=torch.uint8, device="cuda"); host2 = torch.empty(size, dtype=torch.uint8, pin_memory=True)
def timed(fn, n=5):
    fn(); torch.cuda.synchronize(); best = 1e9
    for _ in range(n):
        t0 = time.perf_counter(); fn(); torch.cuda.synchronize(); best = min(best, time.perf_counter() - t0)
    return best
for name, fn in (("h2d", lambda: dev.copy_(host, non_blocking=True)), ("d2h", lambda: host.copy_(dev, non_blocking=True))):
    row("copy", f"{name} 1 GiB", size / timed(fn) / 1e9, "GB/s")
s1, s2 = torch.cuda.Stream(), torch.cuda.Stream()
def both():
    with torch.cuda.stream(s1): dev.copy_(host, non_blocking=True)
    with torch.cuda.stream(s2): host2.copy_(dev2, non_blocking=True)
row("copy", "both ways at once each way", size / timed(both) / 1e9, "GB/s")
for piece in (16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 8 << 20):
    n = min(2048, size // piece)
    ds, hs = dev[:n * piece].view(n, piece).unbind(0), host[:n * piece].view(n, piece).unbind(0)
    for name, pairs in (("h2d", list(zip(ds, hs))), ("d2h", list(zip(hs, ds)))):
        def run(pairs=pairs):
            for to, fr in pairs: to.copy_(fr, non_blocking=True)
        row("copy_pieces", f"{name} {n} x {piece >> 10} KiB", n * piece / timed(run, 3) / 1e9, "GB/s")
one = torch.empty(4096, dtype=torch.uint8, device="cuda"); h1 = torch.empty(4096, dtype=torch.uint8, pin_memory=True)
row("copy_latency", "h2d 4 KiB and wait", timed(lambda: one.copy_(h1, non_blocking=True), 50) * 1e6, "us")
row("copy_latency", "empty synchronize", timed(lambda: None, 50) * 1e6, "us")

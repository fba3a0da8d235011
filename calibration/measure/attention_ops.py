#!/usr/bin/env python3
"""Counts the tensor-core and exponential operations of PyTorch's attention with Nsight Compute.

The script runs itself under ncu: the inner run launches FlashAttention-2 (dense and with variable
lengths) and cuDNN over heads, head sizes, masks and lengths, each call after a marker kernel that
tells the calls apart; the outer run joins the counters to the calls. Needs the right to read
performance counters (root, or NVreg_RestrictProfilingToAdminUsers=0). Clocks are left alone.
"""

import argparse
import csv
import io
import os
import random
import subprocess
import sys
import tempfile

from attention_torch import BF16_BYTES, provenance, run_lengths

MARKER = "triu_tril"  # in the name of torch.tril's kernel, which no attention calls
TENSOR_OPS = "sm__ops_path_tensor_src_bf16_dst_fp32"
XU = "sm__inst_executed_pipe_xu"  # warps: 32 operations each
COUNTERS = [TENSOR_OPS + ".sum", TENSOR_OPS + ".max", TENSOR_OPS + ".min"]
OPTIONAL = [XU + ".sum", XU + ".max", "sm__cycles_active.max", "sm__cycles_active.avg",
            "gpu__time_duration.sum"]
COLUMNS = ["tensor_ops_total", "tensor_ops_max_sm", "tensor_ops_min_sm", "xu_warps_total",
           "xu_warps_max_sm", "sm_active_cycles_max", "sm_active_cycles_mean", "ncu_time_us"]
CASE = ["kernel", "framework", "kernel_source", "query_heads", "kv_heads", "head_dim",
        "query_tokens", "context_tokens", "dtype", "kv_dtype", "causal"]
HEADS = [(32, 8), (64, 8), (8, 1), (28, 4), (32, 32), (16, 16), (40, 8), (5, 1), (12, 4), (2, 2)]
WORK_MAX, KV_BYTES_MAX = 3e11, 2e9  # query-key pairs x head_dim x heads; keeps a call below 10 ms


def lengths(draw, kind):
    """Queries and contexts of a call."""
    if kind == "decode":
        batch = draw.choice([1, 2, 3, 5, 8, 16, 33, 64, 128])
        return [1] * batch, [int(2 ** draw.uniform(5, 15))] * batch
    if kind == "varlen":
        queries, contexts = [], []
        for _ in range(draw.choice([1, 2, 3, 5, 8])):
            chunk = int(2 ** draw.uniform(3, 11.5))
            queries.append(chunk)
            contexts.append(chunk + draw.choice([0, 0, int(2 ** draw.uniform(4, 13))]))
        for _ in range(draw.choice([0, 0, 4, 31])):
            queries.append(1)
            contexts.append(int(2 ** draw.uniform(4, 12)))
        return queries, contexts
    tokens = draw.choice([16, 63, 128, 200, 256, 512, 777, 1000, 1024, 1500, 2048, 3001, 4096, 8192])
    batch = draw.choice([b for b in (1, 2, 3, 5, 8, 16) if b * tokens <= 16384])
    return [tokens] * batch, [tokens] * batch


def draw_cases(seed, limit):
    draw = random.Random(seed)
    kinds = [("torch_flash", "prefill"), ("torch_flash", "decode"), ("torch_flash_varlen", "varlen"),
             ("torch_flash", "prefill"), ("torch_cudnn", "prefill"), ("torch_flash_varlen", "varlen")]
    cases = []
    while len(cases) < limit:
        source, kind = kinds[len(cases) % len(kinds)]
        queries, contexts = lengths(draw, kind)
        heads, kv_heads = draw.choice(HEADS)
        head_dim = draw.choice([64, 128, 128])
        causal = kind != "decode" and draw.random() < 0.7
        work = sum(q * c for q, c in zip(queries, contexts)) * heads * head_dim
        kv_bytes = 2 * sum(contexts) * kv_heads * head_dim * BF16_BYTES
        if work < WORK_MAX and kv_bytes < KV_BYTES_MAX:
            cases.append((source, heads, kv_heads, head_dim, queries, contexts, causal))
    return cases


def prepare(torch, source, heads, kv_heads, head_dim, queries, contexts, causal):
    """A function that makes the call, its tensors ready."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def random_tensor(tokens, head_count):
        return torch.randn(tokens, head_count, head_dim, dtype=torch.bfloat16, device="cuda")

    q = random_tensor(sum(queries), heads)
    k, v = (random_tensor(sum(contexts), kv_heads) for _ in range(2))
    if source == "torch_flash_varlen":
        def offsets(values):
            sums = torch.tensor([0] + values, dtype=torch.int32, device="cuda")
            return sums.cumsum(0, dtype=torch.int32)
        q_offsets, kv_offsets = offsets(queries), offsets(contexts)
        return lambda: torch.ops.aten._flash_attention_forward(
            q, k, v, q_offsets, kv_offsets, max(queries), max(contexts), 0.0, causal, False)
    backend = (SDPBackend.FLASH_ATTENTION if source == "torch_flash"
               else SDPBackend.CUDNN_ATTENTION)
    batch = len(queries)
    q, k, v = (t.view(batch, -1, t.shape[1], head_dim).transpose(1, 2) for t in (q, k, v))

    def call():
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=causal, enable_gqa=heads != kv_heads)
    return call


def inner(seed, limit, path):
    """Makes the calls between cudaProfilerStart and cudaProfilerStop; writes those that worked."""
    import torch

    marker = torch.ones(32, 32, device="cuda")
    done = []
    with torch.no_grad():
        torch.tril(marker)
        for case in draw_cases(seed, limit):
            try:
                call = prepare(torch, *case)
                call()  # builds the plan (cuDNN) and fails here if it must
                torch.cuda.synchronize()
            except RuntimeError as error:
                print(f"left out: {case[0]} {case[1:4]}: {str(error)[:150]}", file=sys.stderr)
                continue
            torch.cuda.profiler.start()
            torch.tril(marker)
            call()
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
            done.append(case)
    with open(path, "w", newline="", encoding="utf-8") as file:
        for key, value in provenance(torch.device("cuda", 0), seed).items():
            if key not in ("program", "method"):
                file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CASE)
        for source, heads, kv_heads, head_dim, queries, contexts, causal in done:
            writer.writerow(["attention", "pytorch", source, heads, kv_heads, head_dim,
                             run_lengths(queries), run_lengths(contexts), "bf16", "bf16",
                             int(causal)])


def known_metrics():
    """COUNTERS, and those of OPTIONAL that this GPU has."""
    listing = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True,
                             check=False).stdout
    names = {line.split()[0] for line in listing.splitlines() if line.strip()}
    return COUNTERS + [metric for metric in OPTIONAL if not names or metric.split(".")[0] in names]


def profile(seed, limit, metrics):
    """Provenance lines, rows of the calls, and ncu's rows, a kernel each, in launch order."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calls.csv")
        log = os.path.join(folder, "ncu.csv")
        result = subprocess.run(
            ["ncu", "--clock-control", "none", "--cache-control", "all", "--profile-from-start",
             "off", "--csv", "--page", "raw", "--print-units", "base", "--log-file", log,
             "--metrics", ",".join(metrics), sys.executable, os.path.abspath(__file__), "--inner",
             path, "--seed", str(seed), "--limit", str(limit)],
            capture_output=True, text=True, check=False)
        text = ""
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                text = file.read()
        if '"ID"' not in text or not os.path.exists(path):
            sys.exit(f"ncu returned no counters:\n{text[-1500:]}\n{result.stdout[-1500:]}\n"
                     f"{result.stderr[-1500:]}")
        sys.stderr.write(result.stderr)
        counters = list(csv.DictReader(io.StringIO(text[text.find('"ID"'):])))[1:]  # [0]: units
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    notes = [line for line in lines if line.startswith("#")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return notes, rows, counters


def number(text):
    return float(text.replace(",", "")) if text not in (None, "", "n/a", "nan") else 0.0


def by_call(counters):
    """The kernels between one marker and the next."""
    calls = []
    for row in counters:
        if MARKER in row["Kernel Name"]:
            calls.append([])
        elif calls:
            calls[-1].append(row)
    return calls


def size(text):
    """ncu's "(4, 8, 32)" as "4x8x32"."""
    return text.strip("() ").replace(" ", "").replace(",", "x")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=240, help="calls")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="tensor_ops_attention.csv")
    parser.add_argument("--inner", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inner:
        inner(arguments.seed, arguments.limit, arguments.inner)
        return
    metrics = known_metrics()
    notes, rows, counters = profile(arguments.seed, arguments.limit, metrics)
    calls = by_call(counters)
    if len(calls) != len(rows):
        sys.exit(f"{len(calls)} calls profiled, {len(rows)} made: rows do not match")
    with open(arguments.out, "w", newline="", encoding="utf-8") as file:
        for note in notes:
            file.write(note + "\n")
        file.write("# program: attention_ops.py 1\n")
        file.write("# method: Nsight Compute, clocks not controlled, caches flushed; counters of "
                   "all kernels of one call are summed (max and min: of the kernel that has them); "
                   "xu_warps: warp instructions, 32 operations each\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CASE + ["kernel_name", "grid", "block"] + COLUMNS)
        for row, kernels in zip(rows, calls):
            values = []
            for metric in COUNTERS + OPTIONAL:
                numbers = [number(kernel.get(metric)) for kernel in kernels]
                is_extreme = metric.endswith((".max", ".min")) and "cycles" not in metric
                total = max(numbers, default=0.0) if is_extreme else sum(numbers)
                values.append(f"{total:.10g}" if metric in metrics else "")
            if values[-1]:
                values[-1] = f"{float(values[-1]) / 1000:.10g}"  # ns to us
            names = [" + ".join(kernel[column] for kernel in kernels) for column in ("Kernel Name",)]
            sizes = [" + ".join(size(kernel[column]) for kernel in kernels)
                     for column in ("Grid Size", "Block Size")]
            writer.writerow([row[column] for column in CASE] + names + sizes + values)
    print(f"attention_ops: {len(rows)} calls, {sum(len(kernels) for kernels in calls)} kernels")


if __name__ == "__main__":
    main()

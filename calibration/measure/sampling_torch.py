#!/usr/bin/env python3
"""Times what engines launch for greedy sampling: logits cast to float, then PyTorch's argmax.

vLLM, SGLang and TensorRT-LLM's PyTorch backend all take that path for a batch whose sequences ask
for temperature 0, as benchmark clients do. The method is attention_torch.py's: CUDA graphs of
launches on different logits with L2 swept before each replay, and again on one buffer, which is
nearer to a step, where the head has just written them. Writes the dataset format.
"""

import argparse
import csv
import random
import time

import torch

from attention_torch import Bench, provenance

VOCABULARIES = [32000, 32064, 50304, 65536, 100352, 102400, 128256, 129280, 131072, 151936, 152064,
                163840, 200064, 201088, 256000, 262144]
ROWS = [1, 2, 3, 4, 6, 8, 12, 14, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 224,
        256, 320, 384, 448, 512, 640, 768, 896, 1024]
COLUMNS = ["kernel", "framework", "kernel_source", "rows", "vocabulary", "method", "time_us",
           "p10_us", "p90_us", "warm_us", "sm_clock_mhz", "sustained_us", "sustained_clock_mhz",
           "launches", "repeats", "pass", "kernel_name", "grid", "block", "dynamic_shared_bytes",
           "registers"]


class SamplingBench(Bench):
    def operation(self, rows, vocabulary):
        """A function of a launch's number, and how many launches have room in the pool."""
        count = rows * vocabulary
        stride = (3 * count + 511) // 512 * 512  # bf16 values: the logits, and floats beside them
        drawn = torch.empty(rows, dtype=torch.int64, device=self.device)

        def call(i):
            start = i * stride
            logits = self.pool[start:start + count].view(rows, vocabulary)
            floats = self.pool[start + count:start + 3 * count].view(torch.float32).view(
                rows, vocabulary)
            floats.copy_(logits)
            torch.argmax(floats, dim=-1, out=drawn)
        return call, self.pool.numel() // stride


def shapes(seed):
    grid = [(rows, vocabulary) for rows in ROWS for vocabulary in VOCABULARIES]
    random.Random(seed).shuffle(grid)  # what time cuts off is a fair sample
    return grid


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="sampling_torch.csv")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--repeat", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    device = torch.device("cuda", 0)
    bench = SamplingBench(device)
    header = provenance(device, arguments.seed)
    header["program"] = "sampling_torch.py 1"
    header["method"] = header["method"].replace("; keys and values dense, not paged", "")
    del header["lists"], header["cudnn"]
    start, done = time.monotonic(), []
    with open(arguments.out, "w", newline="") as file:
        for key, value in header.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)

        def one(shape, repeated):
            values = bench.measure(shape)
            values[9] = repeated
            writer.writerow(["sampling", "pytorch", "torch", *shape, "greedy"]
                            + [f"{v:.6g}" if isinstance(v, float) else v for v in values])

        for shape in shapes(arguments.seed):
            if time.monotonic() - start > arguments.seconds:
                break
            one(shape, 0)
            done.append(shape)
        for shape in done[:arguments.repeat]:
            one(shape, 1)
    print(f"sampling: {len(done)} shapes, {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    main()

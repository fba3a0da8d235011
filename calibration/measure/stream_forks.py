#!/usr/bin/env python3
"""Measures what kernels take that run aside, on CUDA streams of their own.

In CUDA graphs of many layers with weights of their own (cold): products of one input, as DeepSeek-V4
has them in its layers, and shared experts beside routed ones (DeepSeek-V3 on eight ranks). A line a
case: the first stream's kernels alone, all one after the other, and forked. Each layer holds two more
kernels of a microsecond, before the fork and behind it. kernels/kernel_streams.cpp takes its
constants from it.
"""

import argparse
import datetime
import statistics

import torch
from memory_footprint import smi

LAYERS, EXPERT_LAYERS = 40, 8
# Width of the input and of what is computed of it. Inputs: queries' and keys' latents, the
# compressor, weights of the index's heads, the index's compressor; queries: those of attention and of
# the index, of the query's latent.
PRODUCTS = {
    "flash_inputs": (4096, (1536, 2048, 64, 512)),
    "pro_inputs": (7168, (2048, 2048, 64, 512)),
    "flash_queries": (1024, (32768, 8192)),
    "pro_queries": (1536, (65536, 8192)),
    "smallest": (64, (64, 64, 64, 64)),
}
PRODUCT_TOKENS = (1, 4, 16, 64, 128, 256, 512, 1024)
HIDDEN, INTERMEDIATE = 7168, 256
# (tokens, experts that they wake, rows of each)
EXPERTS = ((1, 8, 1), (4, 28, 2), (16, 88, 2), (64, 176, 4), (128, 216, 8), (256, 240, 16), (512, 256, 32))


def on_gpu(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02


def replay_us(graph, layers, repeats):
    for _ in range(3):
        graph.replay()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / layers)
    return statistics.median(times)


def capture(layers, first, asides, mode):
    """A graph of `layers`. `first` runs on the stream that all wait for, each of `asides` on one of
    its own (mode "forked"), behind it ("serial") or not at all ("first")."""
    graph, last = torch.cuda.CUDAGraph(), torch.zeros(64, device="cuda")
    streams = [torch.cuda.Stream() for _ in asides]
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        for layer in layers:
            last.add_(1)
            if mode == "forked":
                for stream, aside in zip(streams, asides):
                    stream.wait_stream(main)
                    with torch.cuda.stream(stream):
                        aside(layer)
            first(layer)
            if mode == "forked":
                for stream in streams:
                    main.wait_stream(stream)
            if mode == "serial":
                for aside in asides:
                    aside(layer)
            last.add_(1)
    return graph


def measure(layers, first, asides, repeats):
    return [f"{replay_us(capture(layers, first, asides, mode), len(layers), repeats):.2f}"
            for mode in ("first", "serial", "forked")]


def products(name, tokens, repeats):
    width, outputs = PRODUCTS[name]
    layers = [[on_gpu(width, n) for n in outputs] for _ in range(LAYERS)]
    x = on_gpu(tokens, width)
    runs = [lambda layer, i=i: torch.mm(x, layer[i]) for i in range(len(outputs))]
    for run in runs:
        run(layers[0])
    return measure(layers, runs[0], runs[1:], repeats)


def experts(tokens, active, rows, repeats):
    layers = [(on_gpu(active, HIDDEN, 2 * INTERMEDIATE), on_gpu(active, INTERMEDIATE, HIDDEN),
               on_gpu(HIDDEN, 2 * INTERMEDIATE), on_gpu(INTERMEDIATE, HIDDEN))
              for _ in range(EXPERT_LAYERS)]
    x, own = on_gpu(active, rows, HIDDEN), on_gpu(tokens, HIDDEN)

    def routed(layer):
        torch.bmm(torch.bmm(x, layer[0])[..., :INTERMEDIATE].contiguous(), layer[1])

    def shared(layer):
        torch.mm(torch.mm(own, layer[2])[:, :INTERMEDIATE].contiguous(), layer[3])

    routed(layers[0])
    shared(layers[0])
    return measure(layers, routed, [shared], repeats)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, help="CSV file to write")
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    rows = [(name, tokens, *products(name, tokens, args.repeats))
            for name in PRODUCTS for tokens in PRODUCT_TOKENS]
    rows += [("experts", tokens, *experts(tokens, active, count, args.repeats))
             for tokens, active, count in EXPERTS]
    with open(args.out, "w", encoding="utf-8") as file:
        for line in ("format: foretoken dataset 1", "program: stream_forks.py 1",
                     f"gpu: {torch.cuda.get_device_name()}", f"driver: {smi('driver_version')}",
                     f"torch: {torch.__version__}",
                     f"date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"):
            file.write(f"# {line}\n")
        file.write("case,tokens,first_us,serial_us,forked_us\n")
        for row in rows:
            file.write(",".join(map(str, row)) + "\n")


if __name__ == "__main__":
    main()

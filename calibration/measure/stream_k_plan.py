#!/usr/bin/env python3
"""Draws the products that stream_k_triton.py measures, and asks `foretoken select` which grids the
Stream-K policies start for each of their tiles. Needs no GPU and no PyTorch.

A product is kept with a tile whose last round leaves a fifth of the units idle or more: with the tile
that is selected for it, and with two that people take without tuning. Beside the policies' grids
come a CTA a tile, twice and four times as many, and two CTAs a unit.
"""

import argparse
import csv
import json
import random
import subprocess

# Of products by how many tiles they have a unit, of the tile they were drawn for.
CLASSES = {"few": (0.05, 0.8, 45), "one": (1.0, 1.8, 35), "some": (2.0, 5.0, 25)}
USUAL = ((128, 128, 64), (128, 256, 64))
IDLE = 0.8
LAYERS = [(6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336), (10240, 8192), (8192, 8192),
          (8192, 28672), (1280, 8192), (8192, 1024), (7168, 8192), (8192, 3584)]
COLUMNS = ["class", "m", "n", "k", "block_m", "block_n", "block_k", "warps", "stages", "group_m",
           "grids"]


def ceil_div(a, b):
    return (a + b - 1) // b


def drawn_products(seed):
    draw = random.Random(seed)
    while True:
        if draw.random() < 0.5:
            n, k = draw.choice(LAYERS)
            yield draw.choice([64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]), n, k
        else:
            yield (draw.choice([64, 128 * draw.randint(1, 16)]), 128 * draw.randint(1, 64),
                   256 * draw.randint(4, 64))


class Plan:
    def __init__(self, program, gpu, units):
        self.program, self.gpu, self.units = program, gpu, units

    def select(self, product, tile):
        command = [self.program, "select", "--gpu", self.gpu, "--gemm", "x".join(map(str, product)),
                   "--dtype", "bf16", "--explain", "--json"]
        if tile:
            command += ["--tile", "x".join(map(str, tile))]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["tiles"][0]

    def tiles_a_unit(self, product, tile):
        return ceil_div(product[0], tile[0]) * ceil_div(product[1], tile[1]) / self.units

    def is_idle(self, product, tile):
        rounds = self.tiles_a_unit(product, tile)
        return rounds / ceil_div(round(rounds * self.units), self.units) < IDLE

    def rows(self, kind, product):
        """One for each of the tiles that leaves units idle."""
        seen = set()
        for tile in (None, *USUAL):
            choice = self.select(product, tile)
            sizes = tuple(int(side) for side in choice["tile"].split("x"))
            is_new = sizes not in seen
            seen.add(sizes)
            is_far_taller = 2 * product[0] <= sizes[0]
            if not is_new or is_far_taller or product[2] % sizes[2] or not self.is_idle(product, sizes):
                continue
            count = ceil_div(product[0], sizes[0]) * ceil_div(product[1], sizes[1])
            slices = product[2] // sizes[2]
            grids = set(choice["stream_k_grids"].values())
            grids |= {count, 2 * count, 4 * count, self.units, 2 * self.units}
            grids = {grid for grid in grids if grid <= min(8 * self.units, count * slices)}
            group = choice["group_m"] if tile is None else 8
            yield [kind, *product, *sizes, choice["warps"], choice["stages"], group,
                   " ".join(map(str, sorted(grids)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--foretoken", default="foretoken", help="the program to ask")
    parser.add_argument("--gpu", default="h200-sxm")
    parser.add_argument("--units", type=int, default=132, help="of that GPU")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="stream_k_plan.csv")
    arguments = parser.parse_args()
    plan = Plan(arguments.foretoken, arguments.gpu, arguments.units)
    left = {kind: count for kind, (_, _, count) in CLASSES.items()}
    chosen = []
    known = set()
    for product in drawn_products(arguments.seed):
        if not any(left.values()):
            break
        if product in known:
            continue
        known.add(product)
        rounds = plan.tiles_a_unit(product, USUAL[0])
        for kind, (least, most, _) in CLASSES.items():
            if left[kind] and least <= rounds < most and plan.is_idle(product, USUAL[0]):
                chosen.append((kind, product))
                left[kind] -= 1
                break
    random.Random(arguments.seed).shuffle(chosen)
    with open(arguments.out, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for kind, product in chosen:
            writer.writerows(plan.rows(kind, product))


if __name__ == "__main__":
    main()

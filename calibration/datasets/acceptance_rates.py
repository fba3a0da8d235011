#!/usr/bin/env python3
"""acceptance_rates.py [--check FILE]: how often drafted tokens are accepted, by position.

Reads the mean acceptance lengths under $FORETOKEN_DATA/serving and prints sim/scenario/acceptance/measured.toml.
A verification with d drafts of which the first j would be accepted gives 1 + min(d, j) tokens. So the lengths are
1 plus a sum of min(d, j) over the shares of verifications of each j, which are fitted to them (least squares, none
below 0): lengths were measured one by one, and their noise would let longer drafts give less.

--check FILE: no length that the rates of FILE give is more than 4 % from the measured one."""

import csv
import gzip
import os
import sys
import tomllib

METHODS = {"mtp": "mtp", "eagle3": "eagle"}
TOLERANCE = 0.04


def shares_of(lengths):
    """Shares of verifications in which the first 1, 2, ... drafts would be accepted and no more."""
    count = len(lengths)
    shares = [0.0] * count
    left = [length - 1 for length in lengths]  # what the shares do not explain yet
    for _ in range(20000):
        for j in range(count):
            column = [min(d, j) + 1 for d in range(count)]
            best = shares[j] + sum(a * b for a, b in zip(column, left)) / sum(a * a for a in column)
            step = max(best, 0.0) - shares[j]
            shares[j] += step
            left = [rest - step * a for rest, a in zip(left, column)]
    return shares


def rates(lengths):
    """Of each position, given that all before it were accepted."""
    shares = shares_of(lengths)
    out, before = [], 1.0
    for position in range(len(shares)):
        reached = sum(shares[position:])
        out.append(round(min(reached / before, 1.0), 3) if reached >= 1e-3 else 0.0)
        before = max(reached, 1e-3)
    return out


def measured():
    path = os.path.join(os.environ["FORETOKEN_DATA"], "serving", "acceptance_length.csv.gz")
    groups = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            model = row["model"].removesuffix("-nvfp4")
            text = row["setting"].split("|")[0].split(":")[1].strip()
            if row["thinking"] == "thinking_on":
                text += "_thinking"
            key = (model, METHODS[row["file"].rsplit("_", 1)[1]], text)
            groups.setdefault(key, {})[int(row["draft_tokens"])] = float(row["mean_acceptance_length"])
    return {key: [row[i] for i in sorted(row)] for key, row in sorted(groups.items())}


def lengths_of(acceptance):
    length, reached, out = 1.0, 1.0, []
    for rate in acceptance:
        reached *= rate
        length += reached
        out.append(length)
    return out


def check(path):
    with open(path, "rb") as file:
        given = {(entry["model"], entry["method"], entry["text"]): entry["acceptance"]
                 for entry in tomllib.load(file)["measured"]}
    lengths = measured()
    assert given.keys() == lengths.keys(), f"{path}: other models, methods or texts than the data has"
    for key, row in lengths.items():
        for drafts, (length, of_rates) in enumerate(zip(row, lengths_of(given[key])), start=1):
            off = abs(of_rates / length - 1)
            assert off <= TOLERANCE, f"{key}, {drafts} drafts: {of_rates:.2f}, measured {length:.2f}"
    print(f"{sum(map(len, lengths.values()))} lengths within {TOLERANCE:.0%}")


def main():
    if "FORETOKEN_DATA" not in os.environ:
        print("skipped: FORETOKEN_DATA does not name the measurements")
        return sys.exit(77)
    if sys.argv[1:2] == ["--check"]:
        return check(sys.argv[2])
    print("# How often drafts are accepted, by position, given that those before them were. Written by\n"
          "# calibration/datasets/acceptance_rates.py from mean acceptance lengths that SemiAnalysisAI/InferenceX\n"
          "# publishes (843c6254, Apache-2.0: vLLM on B300, 1 to 8 drafts, answers of up to 4,096 tokens).")
    for (model, method, text), lengths in measured().items():
        print(f'\n[[measured]]\nmodel = "{model}"\nmethod = "{method}"\ntext = "{text}"\n'
              f"acceptance = {rates(lengths)}")


if __name__ == "__main__":
    main()

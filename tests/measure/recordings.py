#!/usr/bin/env python3
"""Recordings for the tests of calibration/measure, cut out of calibration/datasets, and whether a program
that ran on one wrote it again:

    recordings.py pick DATASET COUNT RECORDED [LIST]   rows to replay, and as --only lists them
    recordings.py messages BYTES RECORDED DATASET...   rows of messages up to a size
    recordings.py same RECORDED MEASURED               every row of MEASURED is that of RECORDED
    recordings.py steps DATASET KERNELS OUT            steps to replay: OUT.csv, OUT_kernels.csv, OUT.jsonl
    recordings.py same_steps RECORDED MEASURED
    recordings.py microbench FILE HEAD_US              what the recorded GPU is made of, found out
"""
import csv
import gzip
import json
import math
import sys

KEYS = ["kernel", "framework", "kernel_source", "tokens", "dim", "rows", "vocabulary", "heads", "head_dim",
        "kv_heads", "dtype", "kv_dtype", "experts", "topk", "m", "n", "k", "fast_accumulation",
        "operation", "library", "algorithm", "protocol", "launch", "ranks", "bytes"]
TIMES = ["time_us", "p10_us", "p90_us", "warm_us", "sm_clock_mhz", "sustained_us", "sustained_clock_mhz"]


def read(path):
    with (gzip.open(path, "rt") if path.endswith(".gz") else open(path)) as file:
        lines = file.read().splitlines()
    said = [line for line in lines if line.startswith("#")]
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    return said, rows[0], [dict(zip(rows[0], row)) for row in rows[1:]]


def write(path, said, columns, rows):
    with open(path, "w", newline="") as file:
        file.writelines(line + "\n" for line in said)
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def number(row, column):
    return float(row.get(column) or 0)


def planned(row):
    """Launches a graph and replays of it that the program plans where a first look takes the warm time."""
    guess = max(0.5, number(row, "warm_us") or number(row, "time_us"))
    launches = min(64, max(1, math.ceil(200 / guess)))
    return launches, min(15, max(7, int(8000 / (launches * guess + 60))))


def pick(dataset, count, recorded, listed=None):
    """Rows spread over the data set, whose kernels their names, grids and blocks tell apart."""
    said, columns, rows = read(dataset)
    seen, chosen = set(), []
    rows = [row for row in rows if row["pass"] == "0" and planned(row)[1] == int(row["repeats"])]
    rows.sort(key=lambda row: number(row, "time_us"))
    for i in range(len(rows)):
        # Far apart first: the slowest, the fastest, the middle, quarters and so on.
        row = rows[-1 - (i * 2654435761 % len(rows))]
        launches = {*zip(*(row[name].split(" + ") for name in ("kernel_name", "grid", "block")))}
        if seen & launches or row in chosen:
            continue
        seen |= launches
        chosen.append(row)
        if len(chosen) == count:
            break
    assert len(chosen) == count, f"{dataset}: only {len(chosen)} rows can be told apart"
    write(recorded, said, columns, chosen)
    if listed:
        write(listed, [], [column for column in columns if column in KEYS], chosen)


def plain(text):
    """Names of kernels without namespaces that compilers spell differently, and without parameters."""
    text = text.replace("(anonymous namespace)::", "")
    return " + ".join(name.split("(")[0] for name in text.split(" + "))


def differences(old, new):
    repeats = old.get("repeats") == new.get("repeats")
    for column in new:
        if column in ("pass", "launches", "calls"):
            continue
        if column in ("p10_us", "p90_us") and (not repeats or new.get("launch") == "eager"):
            continue
        if column in TIMES:
            a, b = number(old, column), number(new, column)
            if bool(old[column]) != bool(new[column]) or abs(a - b) > 2e-4 * a + 2e-3:
                yield f"{column} {old[column]!r} -> {new[column]!r}"
        elif column not in ("version", "repeats") and plain(old[column]) != plain(new[column]):
            yield f"{column} {old[column]!r} -> {new[column]!r}"
    for column in ("launches", "calls", "repeats"):
        if column in new and abs(number(old, column) - number(new, column)) > max(1, 0.25 * number(old, column)):
            yield f"{column} {old[column]} -> {new[column]}"


def same(recorded, measured):
    old_said, old_columns, old_rows = read(recorded)
    said, columns, rows = read(measured)
    keys = [column for column in columns if column in KEYS]
    assert columns == old_columns, f"columns {columns}, recorded {old_columns}"
    for name in ("format", "program", "gpu", "compute_capability", "sm_count", "l2_bytes"):
        line = next(line for line in old_said if line.startswith(f"# {name}: "))
        assert line in said, f"{line!r} is not among {said}"
    known = {tuple(row[key] for key in keys): row for row in old_rows if row["pass"] == "0"}
    wrong, seen = [], {"0": 0, "1": 0}
    for row in rows:
        seen[row["pass"]] += 1
        key = tuple(row[key] for key in keys)
        wrong += [f"{key}: {text}" for text in differences(known[key], row)]
    assert not wrong, "\n".join(wrong[:10])
    assert seen["0"] == len(known) and seen["1"] > 0, f"{seen} of {len(known)} rows"
    print(f"{seen['0']} rows and {seen['1']} again are as recorded")


def messages(bytes_max, recorded, *datasets):
    """Rows of messages up to a size, of several data sets; what their lines say, the first says."""
    whole = [read(path) for path in datasets]
    write(recorded, whole[0][0], whole[0][1],
          [row for _, _, rows in whole for row in rows if int(row["bytes"]) <= int(bytes_max)])


def steps(dataset, kernels, out, ways=("1", "4"), wanted=4):
    """Steps of Llama-3.1-8B that were recorded in all these layouts: OUT.csv, OUT_kernels.csv and, a line a
    step and two of one, OUT.jsonl."""
    said, columns, rows = read(dataset)
    kernel_said, kernel_columns, kernel_rows = read(kernels)
    known = {}
    for row in rows:
        replays = min(15, max(3, int(60e3 / (number(row, "gpu_us") + 4))))
        if row["model"] == "llama-3.1-8b" and replays == int(row["replays"]) and len(row["decode"]) < 40:
            known.setdefault((row["prefill"], row["decode"]), {})[row["tp"]] = row
    batches = sorted(key for key, layouts in known.items() if set(ways) <= set(layouts))
    # Decodes come first; then prompts, and batches of both.
    chosen = batches[:2] + batches[len(batches) // 2::len(batches) // 2 // (wanted - 2) or 1][:wanted - 2]
    picked = [known[key][way] for key in chosen for way in ways]
    phases = {row["phase"] for row in picked}
    assert {"decode", "prefill"} <= phases, phases
    numbers = {row["step"] for row in picked}
    write(out + ".csv", said, columns, picked)
    write(out + "_kernels.csv", kernel_said, kernel_columns,
          [row for row in kernel_rows if row["step"] in numbers])
    with open(out + ".jsonl", "w") as file:
        for prefill, decode in chosen + chosen[:1]:
            step = {name: [[int(n) for n in entry.split("x")] for entry in text.split("|") if entry]
                    for name, text in (("prefill", prefill), ("decode", decode))}
            file.write(json.dumps(step) + "\n")


def same_steps(recorded, measured):
    """Every step, and every role's kernels, are those of the recording."""
    keys = ("model", "tp", "prefill", "decode")
    tables = []
    for path in (recorded, measured):
        rows = {row["step"]: row for row in read(path)[2]}
        kernels = {}
        for row in read(path[:-4] + "_kernels.csv")[2]:
            step = tuple(rows[row["step"]][key] for key in keys)
            kernels[step, row["role"]] = row
        tables.append(({tuple(row[key] for key in keys): row for row in rows.values()}, kernels))
    (old_steps, old_kernels), (new_steps, new_kernels) = tables
    wrong = []
    for old, new in ((old_steps, new_steps), (old_kernels, new_kernels)):
        assert set(old) == set(new), f"{set(old) ^ set(new)}"
        for key in old:
            for column in old[key]:
                a, b = old[key][column], new[key][column]
                is_time = column.endswith(("_us", "_w"))
                if column != "step" and (abs(float(a or 0) - float(b or 0)) > 2e-4 * float(a or 0) + 2e-3
                                         if is_time else a != b):
                    wrong.append(f"{key}: {column} {a!r} -> {b!r}")
    assert not wrong, "\n".join(wrong[:10])
    print(f"{len(new_steps)} steps and {len(new_kernels)} roles are as recorded")


def near(what, value, expected):
    assert abs(value - expected) <= 1e-3 * expected, f"{what}: {value}, not {expected}"


def microbench(path, head_us):
    """Against the numbers of recorded_kernels.cpp."""
    with open(path) as file:
        found = json.load(file)
    sms, l2 = int(found["sm_count"]), int(found["l2_bytes"])
    for floor in found["launch_floor"]:
        near("next_us", floor["next_us"], 0.5 + 0.001 * floor["grid"])
        near("first_us", floor["first_us"], float(head_us) + floor["next_us"])
    for kind, rate in (("dram_read_by_size", lambda n: min(4000, 100 * n)),
                       ("dram_read_by_active_sms", lambda n: min(4000, 100 * n)),
                       ("dram_copy_by_size", lambda n: 4000)):
        for point in found[kind]:
            near(kind, point["us"], 2 + point["bytes"] / (1e3 * rate(point["sms"])))
            near(kind, point["gb_per_second"], point["bytes"] / (1e3 * point["us"]))
    assert [point["sms"] for point in found["dram_read_by_active_sms"]][-1] == sms
    for point in found["l2_read_by_active_sms"]:
        near("l2_read", point["gb_per_second"], min(8000, 60 * point["sms"]))
    rates = {point["gb_per_second"] for point in found["l2_read_by_range"]}
    assert rates == {7920, 4000}, rates  # 132 SMs at 60 GB/s, and DRAM
    for point in found["load_latency_by_range"]:
        near("latency", point["cycles"], 300 if point["bytes"] <= l2 else 900)
        near("latency", point["ns"], point["cycles"] / 1.5)
    pipes = {pipe["pipe"]: pipe for pipe in found["pipes"]}
    # Two blocks of 8 warps on an SM, 8 chains of 16 x 8 x 16 products a warp, in 64 cycles.
    near("mma", pipes["mma_sync_bf16"]["ops_per_clock_per_sm"], 2 * 8 * 8 * 2 * 16 * 8 * 16 / 64)
    near("fma", pipes["fma_f32"]["ops_per_clock_per_sm"], 2 * 256 * 16 * 2 / 32)
    near("clock", pipes["ex2"]["sm_clock_mhz"], 1500)
    near("tera", pipes["ex2"]["tera_ops_per_second"], sms * 2 * 256 * 16 / 128 * 1500e6 / 1e12)
    assert "wgmma_bf16_n16" not in pipes, "a pipe that this GPU has not"
    print("as the recorded GPU is made")


if __name__ == "__main__":
    {"pick": lambda a, n, *rest: pick(a, int(n), *rest), "same": same,
     "messages": messages, "microbench": microbench, "steps": steps,
     "same_steps": same_steps}[sys.argv[1]](*sys.argv[2:])

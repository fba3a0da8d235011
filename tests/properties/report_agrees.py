#!/usr/bin/env python3
"""Every figure of report.json, computed again from requests.csv and --steps of random scenarios.

  report_agrees.py FORETOKEN FIRST COUNT      scenarios by seed: FIRST, FIRST + 1 ...
  report_agrees.py FORETOKEN SEED 1 FOLDER    one of them, its files kept in FOLDER

Nothing here is shared with the program: what a figure means is read from sim/report/README.md. Figures that
neither file can tell (blocks of the KV cache, prefix hits, bytes, kernels) are held to their bounds.
"""
import collections
import csv
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # beside the sources
from random_scenario import scenario

EXACT = 2e-8  # figures are rounded to nine digits
DATE = 1.1e-6  # s: dates of the CSV have six decimals
LATENCY = 1.1e-3  # ms: latencies three


# -- what came out ---------------------------------------------------------------------------------------------------
class Run:
    def __init__(self, foretoken, text, folder):
        file = folder / "scenario.toml"
        file.write_text(text)
        out, steps = folder / "out", folder / "steps.jsonl"
        done = subprocess.run([foretoken, "simulate", str(file), "--out", str(out), "--steps", str(steps), "--quiet"],
                              capture_output=True, text=True)
        self.status, self.complaint = done.returncode, done.stderr
        if self.status not in (0, 1):
            return
        self.report = json.loads((out / "report.json").read_text())
        with open(out / "requests.csv", newline="") as file:
            self.rows = [Row(row) for row in csv.DictReader(file)]
        self.steps = [json.loads(line) for line in open(steps)]
        self.scenario = self.report["scenario"]
        self.workload = self.scenario["workload"]
        self.warmup = seconds(self.scenario["run"].get("warmup", "0 s"))
        self.counted = [row for row in self.rows if row.arrival >= self.warmup - DATE / 2]


def seconds(text):
    number, unit = str(text).split()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}[unit]


class Row:
    def __init__(self, cells):
        number = lambda key: float(cells[key]) if cells.get(key) else None
        self.id, self.replica = int(cells["id"]), int(cells["replica"])
        self.arrival, self.ended = number("arrival_s"), number("ended_s")
        self.scheduled, self.first, self.finished = number("scheduled_s"), number("first_token_s"), number("finished_s")
        self.prompt, self.output = int(cells["prompt_tokens"]), int(cells["output_tokens"])
        self.ttft, self.tpot, self.e2e = number("ttft_ms"), number("tpot_ms"), number("e2e_ms")
        self.preemptions, self.attempts = int(cells["preemptions"]), int(cells["attempts"])
        self.status, self.reason, self.priority = cells["status"], cells["reason"], int(cells["priority"])
        self.drafted, self.accepted = number("drafted") or 0, number("accepted") or 0
        self.tenant = cells.get("tenant")
        self.kv_wait, self.kv_transfer, self.kv_exposed = (
            number("kv_wait_ms"), number("kv_transfer_ms"), number("kv_exposed_ms"))

    def end(self):  # when the client has what it gets
        return max(self.finished or 0, self.ended)

    def completed(self):
        return self.status == "completed"


class Wrong(Exception):
    pass


def near(wanted, found, what, tolerance=0.0, relative=EXACT):
    if abs(wanted - found) > tolerance + relative * max(abs(wanted), abs(found)) + 1e-12:
        raise Wrong(f"{what}: the report says {found}, requests and steps {wanted}")


def equal(wanted, found, what):
    if wanted != found:
        raise Wrong(f"{what}: the report says {found}, requests and steps {wanted}")


# -- requests ----------------------------------------------------------------------------------------------------------
def check_counts(run):
    requests = run.report["requests"]
    counts = collections.Counter(row.status for row in run.counted)
    equal(len(run.counted), requests["arrived"], "requests.arrived")
    for status in ["completed", "failed", "unfinished", "cancelled", "timed_out", "rejected"]:
        equal(counts[status], requests[status], f"requests.{status}")
    equal(sum(row.attempts - 1 for row in run.counted), requests["retries"], "requests.retries")
    reasons = collections.Counter(row.reason for row in run.counted if row.status == "failed")
    equal(dict(reasons), requests.get("failed_by", {}), "requests.failed_by")
    gateway = collections.Counter(row.reason for row in run.counted if row.status == "rejected" and row.reason)
    equal(dict(gateway), requests.get("rejected_by", {}), "requests.rejected_by")
    equal([], [row.id for row in run.rows if row.status == "failed" and not row.reason], "requests without a reason")
    equal([], [row.id for row in run.rows if row.reason and row.status not in ("failed", "rejected")], "needless reasons")
    equal(1 if counts["completed"] == 0 else 0, run.status, "exit status")


def summary(samples):
    if not samples:
        return dict.fromkeys(["mean", "p50", "p90", "p95", "p99", "max"], 0.0)
    ordered = sorted(samples)

    def percentile(share):
        place = share * (len(ordered) - 1)
        low = math.floor(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    return {"mean": math.fsum(ordered) / len(ordered), "p50": percentile(0.5), "p90": percentile(0.9),
            "p95": percentile(0.95), "p99": percentile(0.99), "max": ordered[-1]}


def check_latencies(rows, report, where=""):
    samples = {"ttft_ms": [row.ttft for row in rows if row.first is not None],
               "tpot_ms": [row.tpot for row in rows if row.completed() and row.output > 1],
               "e2e_ms": [row.e2e for row in rows if row.completed()]}
    for table, values in samples.items():
        for figure, wanted in summary(values).items():
            near(wanted, report[table][figure], f"{where}{table}.{figure}", LATENCY)


def check_itl(run):
    """Without drafts a token is an arrival: as many gaps as tokens behind the first ones."""
    whole = all(row.completed() and row.attempts == 1 for row in run.rows) and run.counted == run.rows
    if not whole or "speculation" in run.report:
        return
    gaps = sum(row.output - 1 for row in run.rows)
    time = math.fsum((row.finished - row.first) * 1e3 for row in run.rows)
    near(time / gaps if gaps else 0.0, run.report["itl_ms"]["mean"], "itl_ms.mean", LATENCY, 1e-3)


def check_group(run, rows, one, where):
    equal(len(rows), one["arrived"], f"{where}.arrived")
    equal(sum(row.completed() for row in rows), one["completed"], f"{where}.completed")
    equal(sum(row.status == "rejected" for row in rows), one["rejected"], f"{where}.rejected")
    check_latencies(rows, one, f"{where}.")
    verdicts = [is_good(run, row) for row in rows]
    if None not in verdicts:
        near(sum(verdicts) / len(rows), one["attainment"], f"{where}.attainment")


def check_groups(run):
    classes = sorted({row.priority for row in run.counted})
    found = run.report.get("by_priority", [])
    equal(classes if len(classes) > 1 else [], [one["priority"] for one in found], "by_priority")
    for one in found:
        check_group(run, [row for row in run.counted if row.priority == one["priority"]], one, "by_priority")
    for name, one in run.report.get("tenants", {}).items():
        check_group(run, [row for row in run.counted if row.tenant == name], one, f"tenants.{name}")
    if "fairness" in run.report and not 0 < run.report["fairness"] <= 1 + EXACT:
        raise Wrong(f"fairness is {run.report['fairness']}")


def check_fair_shares(run):
    """Jain's index over what each tenant got of what it would have got had a bucket been filled evenly."""
    report = run.report
    weights = {one["tenant"]: one.get("weight", 1.0) for one in run.workload.get("classes", []) if "tenant" in one}
    if "fairness" not in report or any(row.status != "completed" for row in run.rows):
        return  # what was asked of those that did not complete is in no row
    start, end = report["steady"]["from_s"], report["steady"]["to_s"]
    if any(row.first is not None and abs(row.first - date) < 2 * DATE for row in run.rows for date in (start, end)):
        return

    def served(row, date):
        return (row.prompt if row.first is not None and row.first <= date else 0) + 2 * tokens_until(row, date)

    got, wanted = collections.Counter(), collections.Counter()
    for row in run.rows:
        if row.arrival <= end + DATE:  # the last arrival may be the end itself, and is rounded
            got[row.tenant] += served(row, end) - served(row, start)
            wanted[row.tenant] += row.prompt + 2 * row.output - served(row, start)
    names = [name for name in wanted if wanted[name] > 0]
    if sum(got.values()) == 0:  # nobody was served in that time, and nobody less than another
        return near(1.0, report["fairness"], "fairness", 1e-4)
    low, high = 0.0, max(wanted.values())
    for _ in range(200):  # the level to which everybody is filled
        level = (low + high) / 2
        dealt = sum(min(wanted[name], level * weights[name]) for name in names)
        low, high = (level, high) if dealt < sum(got.values()) else (low, level)
    parts = [got[name] / min(wanted[name], level * weights[name]) for name in names]
    near(sum(parts) ** 2 / (len(parts) * sum(part * part for part in parts)), report["fairness"], "fairness", 1e-4)


# -- rates -------------------------------------------------------------------------------------------------------------
def is_good(run, row):
    slo = dict(run.scenario["slo"])
    for one in slo.pop("classes", []):
        if one["priority"] == row.priority:
            slo.update(one)
    if not row.completed():
        return False
    limits = [(seconds(slo[key]) * 1e3, value) for key, value in
              [("ttft", row.ttft), ("tpot", row.tpot if row.output > 1 else 0.0), ("e2e", row.e2e)] if key in slo]
    # Latencies are rounded: what lies on the limit may be either.
    if any(abs(value - limit) < LATENCY for limit, value in limits):
        return None
    return all(value <= limit for limit, value in limits)


def tokens_until(row, date):
    """The first when it came, the others evenly from there to the end."""
    if row.output == 0 or row.first > date:
        return 0.0
    span = row.end() - row.first
    if span <= 0:
        return float(row.output)
    return 1 + (row.output - 1) * min(1.0, (date - row.first) / span)


def rates_of(rows, time, good):
    if time <= 0:
        return {"requests_per_s": 0.0, "input_tokens_per_s": 0.0, "output_tokens_per_s": 0.0, "goodput": 0.0}
    return {"requests_per_s": sum(row.completed() for row in rows) / time,
            "input_tokens_per_s": sum(row.prompt for row in rows if row.first is not None) / time,
            "output_tokens_per_s": sum(row.output for row in rows) / time,
            "goodput": sum(good(row) for row in rows) / time}


def check_rates(run):
    report, rows = run.report, run.counted
    if not rows:
        return
    goods = {row.id: is_good(run, row) for row in run.rows}
    is_sure = None not in goods.values()
    good = lambda row: bool(goods[row.id])
    first, last = min(row.arrival for row in rows), max(row.arrival for row in rows)
    end = max(row.ended for row in rows)
    near(end - first, report["duration_s"], "duration_s", 2 * DATE)
    whole = rates_of(rows, end - first, good)
    doubt = 3 * DATE / max(end - first, 1e-9)  # of rates, from rounded dates
    for name in ["requests_per_s", "input_tokens_per_s", "output_tokens_per_s"]:
        near(whole[name], report["whole_run"][name], f"whole_run.{name}", 0, EXACT + doubt)

    is_cut = any(row.status == "unfinished" for row in rows)
    taken = max([row.scheduled + (row.kv_wait or 0) * 1e-3 for row in rows if row.scheduled is not None], default=-1)
    basis, to = "arrivals", min(max(last, taken), end)
    if run.workload["arrivals"] == "closed_loop":
        basis = "service"
    if is_cut:
        basis, to = "service", end
    if last <= first:
        basis, to = "run", end
    time = to - first
    if basis == "arrivals":
        rates = rates_of([row for row in run.rows if row.arrival > first], time, good)
    elif basis == "service":
        inside = lambda date: date is not None and first < date <= to
        tokens = lambda row: tokens_until(row, to) - tokens_until(row, first)
        rates = {"requests_per_s": sum(row.completed() and inside(row.finished) for row in run.rows) / time,
                 "input_tokens_per_s": sum(row.prompt for row in run.rows if inside(row.first)) / time,
                 "output_tokens_per_s": math.fsum(tokens(row) for row in run.rows) / time,
                 "goodput": sum(good(row) and inside(row.finished) for row in run.rows) / time}
    else:
        rates = whole
    found = report["steady"]
    ended = sum(row.ended <= to + DATE and row.status != "unfinished" for row in rows)
    is_reached = basis != "run" and 2 * ended >= len(rows)
    equal(is_reached, found["reached"], "steady.reached")
    if not is_reached:
        excess = rates["output_tokens_per_s"] - whole["output_tokens_per_s"]
        is_close = abs(excess) < 1e-5 * whole["output_tokens_per_s"]
        if found["basis"] == "run" if is_close else excess < 0:
            basis, to, rates = "run", end, whole
    equal(basis, found["basis"], "steady.basis")
    near(first, found["from_s"], "steady.from_s", DATE)
    near(to, found["to_s"], "steady.to_s", 3 * DATE)
    # A date that lies on the end of the window may be rounded to either side of it.
    edge = any(date is not None and abs(date - to) < 2 * DATE and date != to
               for row in run.rows for date in (row.finished, row.first, row.ended))
    doubt = 3 * DATE / max(to - first, 1e-9)
    if not edge or basis != "service":
        tokens_doubt = doubt if basis != "service" else doubt + 1e-5
        for name in ["requests_per_s", "input_tokens_per_s", "output_tokens_per_s"]:
            allowed = tokens_doubt if name == "output_tokens_per_s" else doubt
            near(rates[name], report["throughput"][name], f"throughput.{name} ({basis})", 0, EXACT + allowed)
        if is_sure:
            near(rates["goodput"], report["slo"]["goodput_per_s"], f"slo.goodput_per_s ({basis})", 0, EXACT + doubt)
    for name in ["requests_per_s", "input_tokens_per_s", "output_tokens_per_s"]:
        near(report["throughput"][name] / report["gpus"], report["throughput"]["per_gpu"][name], f"per_gpu.{name}")
    if is_sure:
        share = sum(good(row) for row in rows) / len(rows)
        near(share, report["slo"]["attainment"], "slo.attainment")
        equal(share >= run.scenario["slo"]["percentile"] / 100, report["slo"]["met"], "slo.met")

    drain = report["drain"]
    near(end - to, drain["duration_s"], "drain.duration_s", 3 * DATE)
    if basis == "run":
        equal((0, 0), (drain["requests"], drain["output_tokens"]), "drain")
    elif not edge:
        equal(sum(row.ended > to + DATE for row in rows), drain["requests"], "drain.requests")
        left = math.fsum(row.output - tokens_until(row, to) for row in rows)
        near(left, drain["output_tokens"], "drain.output_tokens", 1e-3 * max(1, len(rows)), 1e-5)


def check_cost(run, price):
    report, cost = run.report, run.report["cost"]
    if "fleet" not in report:
        near(report["gpus"] * price, cost["per_hour"], "cost.per_hour")
    else:
        most = report["gpus"] * price
        if not 0 <= cost["per_hour"] <= most * (1 + EXACT):
            raise Wrong(f"cost.per_hour: {cost['per_hour']} of {report['gpus']} GPUs at {price}")
    rate = report["throughput"]["output_tokens_per_s"]
    equal(rate > 0, "per_million_output_tokens" in cost, "cost.per_million_output_tokens is there")
    if rate > 0:
        near(cost["per_hour"] / (rate * 3600) * 1e6, cost["per_million_output_tokens"],
             "cost.per_million_output_tokens", 0, 4 * EXACT)
    if "pools" in report:
        near(sum(pool["cost_per_hour"] for pool in report["pools"].values()), cost["per_hour"], "pools.cost_per_hour", 0,
             4 * EXACT)


def check_handoffs(run):
    if "kv_transfers" not in run.report:
        return
    rows = [row for row in run.counted if row.kv_transfer is not None]
    found = run.report["kv_transfers"]
    equal(len(rows), found["count"], "kv_transfers.count")
    for name, values in [("wait_ms", [row.kv_wait for row in rows]), ("transfer_ms", [row.kv_transfer for row in rows]),
                         ("exposed_ms", [row.kv_exposed for row in rows])]:
        for figure, wanted in summary(values).items():
            near(wanted, found[name][figure], f"kv_transfers.{name}.{figure}", LATENCY)


# -- steps -------------------------------------------------------------------------------------------------------------
def sequences(step):
    return len(step["prefill"]) + sum(count for _, count in step["decode"]) + sum(
        count for _, _, count in step.get("verify", []))


def whole_steps(steps):
    """Attention ranks step together and have a line each."""
    together = collections.OrderedDict()
    for step in steps:
        key = (step["replica"], step["stage"], step["start_s"])
        one = together.setdefault(key, {"duration": step["duration_s"], "sequences": 0, "host": step.get("host_s", 0.0),
                                        "draft": step.get("draft_s", 0.0)})
        one["sequences"] += sequences(step)
    return together


def pool_of_replicas(run):
    """Those that prefill come first."""
    pools = run.report.get("pools")
    if not pools:
        return None
    names = []
    for role in ["both", "prefill", "decode"]:
        for name, pool in pools.items():
            if pool["role"] == role:
                names += [name] * pool["replicas"]
    return names


def check_batches(steps, found, where=""):
    first = [step for (_, stage, _), step in steps.items() if stage == 0]
    equal(len(first), found["iterations"], f"{where}iterations")
    counts = [step["sequences"] for step in first]
    near(sum(counts) / len(counts) if counts else 0.0, found["batch"]["mean"], f"{where}batch.mean")
    equal(max(counts, default=0), found["batch"]["max"], f"{where}batch.max")


def check_steps(run):
    report = run.report
    steps = whole_steps(run.steps)
    check_batches(steps, report)
    replicas = pool_of_replicas(run)
    if replicas:
        for name, pool in report["pools"].items():
            check_batches({key: step for key, step in steps.items() if replicas[key[0]] == name}, pool, f"pools.{name}.")
    busy = math.fsum(step["duration"] for step in steps.values())
    slack = 2e-9 * max(1, len(steps))
    waiting = report["time_by"].get("host", 0.0) + report["time_by"].get("kv_copy", 0.0)
    # Priced when it starts: one that a failure, the horizon or the last request's end cuts has no line.
    stages = len({key[:2] for key in steps}) * (1 + report.get("fleet", {}).get("failures", 0))
    longest = max([step["duration"] for step in steps.values()], default=0.0)
    total = math.fsum(report["time_by"].values())
    if not busy - slack - 1e-6 * busy <= total <= busy + slack + 1e-6 * busy + stages * 2 * longest:
        raise Wrong(f"sum of time_by: the report says {total}, steps {busy}")
    is_whole = total <= busy + slack + 1e-6 * busy
    if is_whole:
        near(math.fsum(step["host"] for (_, stage, _), step in steps.items() if stage == 0),
             report["time_by"].get("host", 0.0), "time_by.host", slack, 1e-6)
        near(math.fsum(step["draft"] for step in steps.values()), report["time_by"].get("draft", 0.0), "time_by.draft",
             slack, 1e-6)
    if "host" in report:
        near(report["time_by"].get("host", 0.0), report["host"]["exposed_s"], "host.exposed_s")
    for family, one in report["step_time_error"].items():
        near(report["time_by"][family] / max(total, 1e-300), one["share"], f"step_time_error.{family}.share")
    layouts = run.scenario["deployment"]
    if not replicas and is_whole:
        stages = layouts.get("pipeline_parallel", 1)
        ranks = layouts.get("tensor_parallel", 1) * layouts.get("data_parallel_attention", 1)
        end = max([row.ended for row in run.rows] + [0.0])
        if end > 0 and "fleet" not in report and "horizon" not in run.scenario["run"]:
            near((busy - waiting) / (end * layouts["replicas"] * stages), report["gpu_busy"], "gpu_busy", 1e-6,
                 1e-5 + 2 * DATE / end)
        tokens = sum(row.output for row in run.rows)
        equal(tokens > 0, "energy_j_per_token" in report, "energy_j_per_token is there")
        if tokens:
            energy = report["energy"]
            near((busy - waiting) * ranks * run.power, energy["steps_j"], "energy.steps_j", slack, 1e-6)
            joules = energy["steps_j"] + energy["idle_j"] + energy["host_j"]
            near(joules / tokens, report["energy_j_per_token"], "energy_j_per_token", 1e-6, 1e-6)
    if not 0 <= report["gpu_busy"] <= 1 + EXACT:
        raise Wrong(f"gpu_busy is {report['gpu_busy']}")


def check_speculation(run):
    found = run.report.get("speculation")
    if not found:
        return
    pool = next((name for name, one in run.report.get("pools", {}).items() if one["role"] != "prefill"), None)
    replicas = pool_of_replicas(run)
    verified = [step for step in run.steps if step["stage"] == 0 and step.get("verify") and
                (not replicas or replicas[step["replica"]] == pool)]
    if any(row.attempts > 1 or not row.completed() for row in run.rows) or replicas:
        return  # a step whose tokens nobody got is drawn, but not counted
    equal(sum(count for step in verified for _, _, count in step["verify"]), found["verifications"],
          "speculation.verifications")
    drafted, accepted = sum(row.drafted for row in run.rows), sum(row.accepted for row in run.rows)
    if found["verifications"]:
        near(1 + accepted / found["verifications"], found["acceptance_length"], "speculation.acceptance_length")
        equal(True, found["accepted_by_position"] == sorted(found["accepted_by_position"], reverse=True),
              "accepted_by_position falls")
    else:
        equal((0, 0), (drafted, accepted), "drafts without verifications")


# -- over time ---------------------------------------------------------------------------------------------------------
def check_timeline(run):
    found = run.report["timeline"]
    width = found["interval_s"]
    integral = lambda name: math.fsum(found[name]) * width
    equal([], [i for i, time in enumerate(found["time_s"]) if abs(time - i * width) > 1e-6], "timeline.time_s")
    there = math.fsum(row.ended - row.arrival for row in run.rows)
    near(there, integral("running") + integral("waiting"), "timeline: running and waiting (Little's law)",
         2 * DATE * len(run.rows), 1e-6)
    # A static batch holds sequences whose prompts come later; others wait again when they lose their place.
    calm = (not any(row.preemptions or row.attempts > 1 for row in run.rows) and
            "kv_transfers" not in run.report and run.scenario["engine"]["scheduler"] != "static")
    if calm:
        begun = math.fsum(row.ended - row.scheduled for row in run.rows if row.scheduled is not None)
        near(begun, integral("running"), "timeline.running (Little's law)", 2 * DATE * len(run.rows), 1e-6)
    near(sum(row.output for row in run.rows), integral("output_tokens_per_s"), "timeline.output_tokens_per_s", 0, 1e-6)
    if not all(0 <= share <= 1 + EXACT for share in found["kv_used"]):
        raise Wrong("timeline.kv_used is no share")
    if "fleet" in run.report:
        fleet = run.report["fleet"]
        if not 0 <= fleet["serving_mean"] <= fleet["up_mean"] + EXACT <= fleet["up_max"] + 2 * EXACT:
            raise Wrong(f"fleet: {fleet}")


def check_bounds(run):
    report = run.report
    equal(sum(row.preemptions for row in run.rows), report["kv"]["preemptions"], "kv.preemptions")
    if not 0 <= report["kv"]["mean"] <= report["kv"]["peak"] + EXACT <= 1 + 2 * EXACT:
        raise Wrong(f"kv: {report['kv']}")
    for table in [report["memory_bytes"]] + [pool["memory_bytes"] for pool in report.get("pools", {}).values()]:
        parts = sum(size for name, size in table.items() if name not in ("capacity", "overcommitted"))
        near(table["capacity"] + table.get("overcommitted", 0), parts, "memory_bytes", len(table))
    intervals = report.get("intervals", {})
    for table, figures in intervals.items():
        if table in ("source", "confidence", "step_time"):
            continue
        for name, (low, high) in figures.items():
            value = report[table][name]
            if not low - EXACT * abs(low) <= value <= high + EXACT * abs(high):
                raise Wrong(f"intervals.{table}.{name}: {value} is not between {low} and {high}")


def check(run):
    check_counts(run)
    check_latencies(run.counted, run.report)
    check_itl(run)
    check_groups(run)
    check_fair_shares(run)
    check_rates(run)
    check_cost(run, run.price)
    check_handoffs(run)
    check_steps(run)
    check_speculation(run)
    check_timeline(run)
    check_bounds(run)


def main():
    foretoken, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    gpu = json.loads(subprocess.run([foretoken, "gpu", "show", "h200-sxm", "--json"], capture_output=True, text=True,
                                    check=True).stdout)
    wrong = refused = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(sys.argv[4] if len(sys.argv) > 4 else scratch)
            folder.mkdir(parents=True, exist_ok=True)
            run = Run(foretoken, scenario(seed), folder)
            if run.status == 2:
                refused += 1
                if len(sys.argv) > 4:
                    print(run.complaint)
                continue
            try:
                if run.status not in (0, 1):
                    raise Wrong(f"ended with status {run.status}: {run.complaint}")
                run.price, run.power = gpu["usd_per_hour"], gpu["power_w"]
                check(run)
            except Wrong as error:
                wrong += 1
                print(f"seed {seed}: {error}")
    print(f"{count} scenarios, {refused} refused, {wrong} wrong")
    return 1 if wrong or refused > count / 4 else 0


if __name__ == "__main__":
    sys.exit(main())

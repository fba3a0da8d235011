#!/usr/bin/env bash
# load_tools.sh PROGRAM SOURCE: what simulate --out writes in the load tools' formats is read back as the
# traffic that it was, and as a run that validate finds to be the simulation, and says what the report says.
set -euo pipefail
program=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" simulate "$source/examples/quickstart.toml" --set workload.requests=120 --out "$work" --quiet
for file in vllm_bench.json profile_export.jsonl; do
  "$program" traffic "$work/$file" --json >"$work/traffic.$file"
  "$program" validate "$work/$file" --json >"$work/validated.$file"
done
python3 - "$work" <<'END'
import json, statistics, sys
folder = sys.argv[1]
def load(name):
    with open(f"{folder}/{name}") as file:
        return json.load(file)
report, bench = load("report.json"), load("vllm_bench.json")
for name, format in (("vllm_bench.json", "vllm_bench"), ("profile_export.jsonl", "aiperf")):
    traffic = load(f"traffic.{name}")
    for latency in load(f"validated.{name}")["latencies"].values():
        mean = latency["measured_ms"]["mean"]
        assert abs(latency["simulated_ms"]["mean"] / mean - 1) < 0.002, (name, latency)
    assert traffic["format"] == format and traffic["requests"] == 120, (traffic["format"], traffic["requests"])
    assert abs(traffic["prompt_tokens"]["mean"] / statistics.mean(bench["input_lens"]) - 1) < 0.01
assert bench["completed"] == 120 and bench["num_prompts"] == 120
for mine, theirs in (("ttft_ms", "ttft"), ("itl_ms", "itl"), ("e2e_ms", "e2el")):
    for own, key in (("mean", "mean"), ("p50", "median"), ("p99", "p99")):
        value, other = report[mine][own], bench[f"{key}_{theirs}_ms"]
        assert abs(value / other - 1) < 0.002, (mine, own, value, other)
for itls, output in zip(bench["itls"], bench["output_lens"]):
    assert len(itls) == output - 1  # no speculation: a token a piece
END

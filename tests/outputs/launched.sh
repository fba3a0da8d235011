#!/usr/bin/env bash
# launched.sh PROGRAM SOURCE: plan and compare start from a launch command, which they keep beside their
# results, and export what they chose; a load tool's result sets the traffic.
set -euo pipefail
program=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
line="vllm serve Qwen/Qwen3-8B --max-num-seqs 64"
fail() { echo "launched: $1" >&2; exit 1; }

"$program" compare --from "$line" --cluster h100-sxm-2 --traffic "$source/examples/traffic/vllm_bench.json" \
  --tp 1,2 --goal tpot_p99_ms --out compared --export best --quiet
grep -q "sequences_max = 64" compared/imported.toml || fail "the launch command's flag is lost"
grep -q -- "--tensor-parallel-size 2" best/launch.sh || fail "not the layout with the lowest TPOT"
"$program" simulate best/scenario.toml --json >best.json
grep -q '"arrived": 23' best.json || fail "not the result's requests"

"$program" plan --from "$line" --cluster l40s-1 --rate 1/s --requests 20 --tp 1 --set "slo.ttft=2 s" \
  --quick --out planned --export cheapest --quiet
grep -q -- "--max-num-seqs 64" cheapest/launch.sh || fail "the plan's launch lacks the flag"

# SGLang's result says how fast requests came, but not when.
"$program" simulate --from "$line" --cluster l40s-1 --traffic "$source/examples/traffic/sglang_bench.jsonl" \
  --json >told.json 2>/dev/null
grep -q '"rate": "4 /s"' told.json || fail "the rate that a result tells is not taken"
for command in plan compare; do
  status=0
  "$program" $command 2>told || status=$?
  [ $status -eq 2 ] && grep -q "scenario" told || fail "$command without anything: status $status"
done

#!/usr/bin/env bash
# record_models.sh PROGRAM LOAD_CLIENT SOURCE: what is recorded of a fleet with several models names them,
# and is validated model by model.
set -euo pipefail
program=$1 source=$3
# shellcheck source=tests/live/served.sh
source "$source/tests/live/served.sh"

ask() {
  curl -sS --fail -o /dev/null "http://127.0.0.1:$port/v1/completions" -H 'Content-Type: application/json' \
    -d "{\"model\": \"$1\", \"prompt\": \"$(head -c "$2" /dev/zero | tr '\0' x)\", \"max_tokens\": 40, \"ignore_eos\": true}"
}

start_server "$source/examples/two_models.toml" --speed 4 --record "$work/recorded"
for i in 1 2 3 4; do
  ask llama-3.1-8b $((400 * i)) &
  clients[i]=$!
done
ask llama-3.1-70b 3000
wait "${clients[@]}"
stop_server

"$program" validate "$work/recorded" --json >"$work/both.json"
# One model alone had requests: the other's pool stands idle.
grep -v llama-3.1-70b "$work/recorded/requests.jsonl" >"$work/small.jsonl"
mkdir "$work/small"
cp "$work/recorded/scenario.toml" "$work/small"
mv "$work/small.jsonl" "$work/small/requests.jsonl"
"$program" validate "$work/small" --quiet
python3 - "$work" <<'EOF'
import json, sys
folder = sys.argv[1]
with open(f"{folder}/recorded/requests.jsonl") as file:
    models = [json.loads(line)["model"] for line in file]
assert sorted(models) == ["llama-3.1-70b"] + ["llama-3.1-8b"] * 4, models
with open(f"{folder}/both.json") as file:
    latencies = json.load(file)["latencies"]
for model in set(models):
    for metric in ("TTFT", "TPOT", "E2E"):
        # The dates are the simulation's own.
        one = latencies[f"{metric} {model}"]
        off = abs(one["simulated_ms"]["mean"] / one["measured_ms"]["mean"] - 1)
        assert off <= 0.02, f"{metric} {model}: off by {off:.1%}"
assert latencies["TPOT llama-3.1-70b"]["measured_ms"]["mean"] > latencies["TPOT"]["measured_ms"]["mean"]
EOF

#!/usr/bin/env bash
# walk.sh PROGRAM LOAD_CLIENT SOURCE: the way from what somebody launches to a deployment and back, step by
# step as a user types it: a launch command becomes a scenario, the scenario a plan, the plan an export, which is
# served (by the simulator, in the engine's place) and measured by a client on its own clock; what validate
# reads of that client's result has the TPOT that the plan promised.
set -euo pipefail
program=$1 client=$2 source=$3
# shellcheck source=tests/live/served.sh
source "$source/tests/live/served.sh"
cd "$work"

# A launch command in: how many of which GPUs does it take?
"$program" plan --from "vllm serve meta-llama/Llama-3.1-8B --max-num-seqs 128 --max-model-len 8192" \
  --cluster l40s-1 --rate 4/s --prompt-tokens 600 --output-tokens 120 --requests 60 \
  --gpus l40s,h100-sxm --tp 1 --set "slo.ttft=2 s" --set "slo.tpot=60 ms" \
  --out plan --export deployment --quick --quiet
grep -q -- "--max-num-seqs 128" deployment/launch.sh
"$program" simulate deployment/scenario.toml --json >promised.json

# What was exported is served, and measured with the traffic that it is for.
start_server deployment/scenario.toml
"$client" "$port" 60 4.2 600 120 deployment/result.json
stop_server
"$program" validate deployment --json >validated.json
python3 - <<'EOF'
import json
with open("promised.json") as file:
    promised = json.load(file)["tpot_ms"]["mean"]
with open("validated.json") as file:
    tpot = json.load(file)["latencies"]["TPOT"]
measured, simulated = tpot["measured_ms"]["mean"], tpot["simulated_ms"]["mean"]
print(f"TPOT: promised {promised:.3f} ms, measured {measured:.3f} ms, simulated again {simulated:.3f} ms")
for name, value in (("measured", measured), ("simulated again", simulated)):
    off = abs(value / promised - 1)
    assert off <= 0.03, f"{name}: off by {off:.1%}"
EOF

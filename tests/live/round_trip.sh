#!/usr/bin/env bash
# round_trip.sh PROGRAM LOAD_CLIENT SOURCE: what a client measures on its own clock of a served
# scenario, read as vLLM's result by the same steps as a real server's, agrees with the simulation.
set -euo pipefail
program=$1 client=$2 source=$3
# shellcheck source=tests/live/served.sh
source "$source/tests/live/served.sh"

start_server "$source/examples/quickstart.toml" --record "$work/recorded"
"$client" "$port" 40 10 600 150 "$work/result.json"
stop_server

mkdir "$work/measured"
cp "$work/result.json" "$work/recorded/scenario.toml" "$work/measured"
for folder in recorded measured; do
  "$program" validate "$work/$folder" --json >"$work/$folder.json"
done
python3 - "$work" <<'EOF'
import json, sys
# What the server writes down are the simulation's own dates; the client's are the wall clock's.
for folder, most in (("recorded", 0.005), ("measured", 0.03)):
    with open(f"{sys.argv[1]}/{folder}.json") as file:
        comparison = json.load(file)
    tpot = comparison["latencies"]["TPOT"]
    measured, simulated = tpot["measured_ms"]["mean"], tpot["simulated_ms"]["mean"]
    off = abs(simulated / measured - 1)
    print(f"{folder}: TPOT {measured:.3f} ms, simulated {simulated:.3f} ms")
    assert off <= most, f"{folder}: TPOT is off by {off:.1%}"
EOF

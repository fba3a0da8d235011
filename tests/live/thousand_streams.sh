#!/usr/bin/env bash
# thousand_streams.sh PROGRAM LOAD_CLIENT SOURCE: a thousand streams at once all complete, in order.
set -euo pipefail
program=$1 client=$2 source=$3
# shellcheck source=tests/live/served.sh
source "$source/tests/live/served.sh"

ulimit -n 4096
start_server "$source/examples/quickstart.toml" --set engine.sequences_max=1024
"$client" "$port" 1000 0 100 100 "$work/result.json"
stop_server
grep 'tokens late' "$work/report.txt"
grep -q '1,000 of 1,000 completed' "$work/report.txt"

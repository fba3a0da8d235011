#!/usr/bin/env bash
# lateness.sh BUILD: how late tokens are on the wall clock, by streams at once. A benchmark, not a test.
set -euo pipefail
build=$(cd "$1" && pwd)
program=$build/foretoken
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source=tests/live/served.sh
source "$source/tests/live/served.sh"

ulimit -n 4096
for streams in 1 100 1000; do
  start_server "$source/examples/quickstart.toml" --set engine.sequences_max=1024
  "$build/tests/live/load_client" "$port" "$streams" 0 100 200 "$work/result.json" >/dev/null
  stop_server
  printf '%5d streams:%s\n' "$streams" "$(sed -n 's/.*tokens late  *//p' "$work/report.txt")"
done

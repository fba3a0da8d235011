#!/usr/bin/env bash
# A comparison that Ctrl-C stops keeps its finished runs; the same command goes on, ends with the
# same bytes as one that nobody stopped, and runs nothing twice.
#
#   compare_resumes.sh FORETOKEN
set -euo pipefail
foretoken=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "compare_resumes: $1" >&2
  exit 1
}

# The bytes of a store that hold a finished row.
finished() {
  grep -c -a '"event_fingerprint"' "$work/stopped/runs.sqlite" "$work/stopped/runs.sqlite-wal" 2>/dev/null |
    grep -qv ':0$'
}

# The last layout takes long enough to be caught at it.
arguments=(compare examples/tensor_parallel.toml --tp 4,2 --replicas 1 --jobs 1 --quiet
           --set workload.requests=3000)
"$foretoken" "${arguments[@]}" --out "$work/whole"

# Not in the background of this shell, which would have it ignore SIGINT.
(set -m; exec "$foretoken" "${arguments[@]}" --out "$work/stopped") 2>"$work/message" &
process=$!
until finished; do
  kill -0 "$process" 2>/dev/null || break
  sleep 0.01
done
kill -INT "$process" 2>/dev/null || true
status=0
wait "$process" || status=$?
# A fast machine may have finished both runs before it was stopped: nothing is left to do then.
if [ "$status" -ne 0 ]; then
  [ "$status" -eq 130 ] || fail "stopped with status $status, not 130: $(cat "$work/message")"
  grep -q "1 of 2 layouts are finished" "$work/message" ||
    fail "does not say what it has: $(cat "$work/message")"
  grep -q "Run the same command to continue" "$work/message" ||
    fail "does not say how to go on: $(cat "$work/message")"
  "$foretoken" "${arguments[@]}" --out "$work/stopped" --resume
fi
for file in compare.csv compare.json; do
  cmp "$work/whole/$file" "$work/stopped/$file" || fail "$file differs from an undisturbed run's"
done

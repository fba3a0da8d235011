#!/usr/bin/env bash
# A comparison that Ctrl-C stops keeps its finished runs; with --resume it ends with the same bytes
# as one that nobody stopped, and runs nothing twice.
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

# The last layout takes long enough to be caught at it.
arguments=(compare examples/tensor_parallel.toml --tp 4,2 --replicas 1 --jobs 1 --quiet
           --set workload.requests=20000)
"$foretoken" "${arguments[@]}" --out "$work/whole"

# Not in the background of this shell, which would have it ignore SIGINT.
(set -m; exec "$foretoken" "${arguments[@]}" --out "$work/stopped") 2>"$work/message" &
process=$!
until [ -f "$work/stopped/rows.jsonl" ] && [ "$(wc -l <"$work/stopped/rows.jsonl")" -ge 2 ]; do
  kill -0 "$process" 2>/dev/null || break
  sleep 0.01
done
kill -INT "$process" 2>/dev/null || true
status=0
wait "$process" || status=$?
# A fast machine may have finished both runs before it was stopped: nothing is left to resume then.
if [ "$status" -ne 0 ]; then
  [ "$status" -eq 130 ] || fail "stopped with status $status, not 130: $(cat "$work/message")"
  grep -q -- --resume "$work/message" || fail "does not say how to go on: $(cat "$work/message")"
  "$foretoken" "${arguments[@]}" --out "$work/stopped" 2>"$work/refused" &&
    fail "starts over without a word"
  grep -q "was interrupted" "$work/refused" || fail "refuses for another reason: $(cat "$work/refused")"
  before=$(sed -n 2p "$work/stopped/rows.jsonl")
  "$foretoken" "${arguments[@]}" --out "$work/stopped" --resume
  [ "$before" = "$(sed -n 2p "$work/stopped/rows.jsonl")" ] || fail "the finished run was not kept"
fi
for file in compare.csv compare.json rows.jsonl; do
  cmp "$work/whole/$file" "$work/stopped/$file" || fail "$file differs from an undisturbed run's"
done

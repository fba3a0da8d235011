#!/usr/bin/env bash
# simulate --out over the folder of an earlier run, killed (kill -9) at every step of writing and at
# moments spread over the run: what is left is the earlier run's files, or the new one's, or some of
# either, never both, never half a file, and report.json only with all the others.
#
#   kill.sh FORETOKEN KILL_AT_LIBRARY
set -euo pipefail
foretoken=$1 library=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names="requests.csv vllm_bench.json profile_export.jsonl scenario.toml steps.jsonl page.html report.json"
files=$(wc -w <<<"$names")
# Without npm the program has no charts; another copy of the steps takes the page's place.
page=--report
"$foretoken" simulate examples/quickstart.toml --set workload.requests=1 --report "$work/page.html" \
  --quiet 2>/dev/null || page=--trace

run() {  # FOLDER SEED [PREFIX...]
  "${@:3}" "$foretoken" simulate examples/quickstart.toml --set workload.requests=60 --set run.seed="$2" \
    --out "$1" --steps "$1/steps.jsonl" $page "$1/page.html" --quiet
}
fail() {
  echo "$*" >&2
  ls -la "$work/now" >&2
  exit 1
}
# What is in the folder; sets `seen` to old, new or "" (nothing).
look() {
  seen=
  local count=0
  for name in $names; do
    [ -e "$work/now/$name" ] || continue
    count=$((count + 1))
    local which=
    cmp -s "$work/now/$name" "$work/old/$name" && which=old
    cmp -s "$work/now/$name" "$work/new/$name" && which=new
    [ -n "$which" ] || fail "$1: $name is neither the old nor the new one"
    [ -z "$seen" ] || [ "$seen" = "$which" ] || fail "$1: old and new files side by side"
    seen=$which
  done
  [ ! -e "$work/now/report.json" ] || [ "$count" -eq "$files" ] || fail "$1: a report without the others"
}
run "$work/old" 1
run "$work/new" 2
for name in $names; do
  [ "$name" = steps.jsonl ] || ! cmp -s "$work/old/$name" "$work/new/$name" || fail "seeds do not differ in $name"
done

# Every step, until the run is not killed any more.
for at in $(seq 1 1000); do
  rm -rf "$work/now"
  cp -r "$work/old" "$work/now"
  status=0
  { FORETOKEN_KILL_AT=$at LD_PRELOAD=$library run "$work/now" 2; } 2>/dev/null || status=$?
  look "killed at step $at"
  [ "$status" -ne 0 ] || break
  [ "$status" -eq 137 ] || fail "status $status at step $at"
done
[ "$at" -gt 20 ] || fail "only $at steps: of $files files each is opened, synced, removed and renamed"
[ "$seen" = new ] || fail "a run that was not killed wrote nothing"
[ "$(ls -A "$work/now" | wc -l)" -eq "$files" ] || fail "what killed runs left was not taken away"

# Moments spread over the run; the same folder goes on being written to.
began=$(date +%s%N)
run "$work/now" 1
took=$(($(date +%s%N) - began))
for i in $(seq 1 40); do
  moment=$(awk -v took="$took" -v i="$i" 'BEGIN { printf "%.4f", 1.1 * took / 1e9 * i / 40 }')
  { run "$work/now" $((i % 2 + 1)) timeout -s KILL "$moment"; } 2>/dev/null || true
  look "killed after $moment s"
done
run "$work/now" 2
[ "$(ls -A "$work/now" | wc -l)" -eq "$files" ] || fail "what killed runs left was not taken away"

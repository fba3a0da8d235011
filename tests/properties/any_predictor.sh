#!/usr/bin/env bash
# Every example with every predictor ends with a report or, before time 0, with a mistake (status 2)
# that names the predictor and says what to set: never with a price that is missing in a run.
#
#   any_predictor.sh FORETOKEN
set -euo pipefail
foretoken=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t predictors < <("$foretoken" list --json |
  python3 -c 'import json, sys; [print(p["name"]) for p in json.load(sys.stdin)["predictors"]]')
[ "${#predictors[@]}" -ge 10 ] || {
  echo "only ${#predictors[@]} predictors are listed" >&2
  exit 1
}

for scenario in examples/*.toml; do
  # A trace or a duration is cut: what is priced in an hour has been priced in its first seconds.
  few=(--set workload.requests=6)
  grep -q '^requests' "$scenario" || few=(--set "run.horizon=40 s" --set "run.warmup=0 s")
  for predictor in "${predictors[@]}"; do
    status=0
    "$foretoken" simulate "$scenario" --quiet --intervals none --set "predictor.name=$predictor" "${few[@]}" \
      >"$work/stdout" 2>"$work/stderr" || status=$?
    if [ "$status" -eq 2 ] && grep -qE 'cannot price this: .*set |is an option of the predictor ' "$work/stderr"; then
      continue
    fi
    [ "$status" -eq 0 ] && continue
    cat "$work/stderr" >&2
    echo "$scenario with $predictor ended with status $status" >&2
    exit 1
  done
done

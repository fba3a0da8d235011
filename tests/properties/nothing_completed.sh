#!/usr/bin/env bash
# A run that completes no request says why, ends with status 1, and puts no price on nothing: in the
# table, report.json, requests.csv and the page.
#
#   nothing_completed.sh FORETOKEN
set -euo pipefail
foretoken=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}
simulate() {  # STATUS argument…: quickstart with 20 requests
  local wanted=$1 status=0
  shift
  "$foretoken" simulate examples/quickstart.toml --set workload.requests=20 "$@" \
    >"$work/stdout" 2>"$work/stderr" || status=$?
  [ "$status" -eq "$wanted" ] || { cat "$work/stderr" >&2; fail "$* ended with status $status, not $wanted"; }
}
says() { grep -qF -- "$2" "$work/$1" || { cat "$work/$1" >&2; fail "$1 does not say: $2"; }; }
says_not() { ! grep -qiE -- "$2" "$work/$1" || { cat "$work/$1" >&2; fail "$1 says: $2"; }; }

simulate 1 --set "run.warmup=1 h"
says stdout "no request is counted: none arrived after the warm-up; lower run.warmup"
says_not stdout "met by|per million|nan|inf\b"

simulate 1 --set engine.context_max=10 --out "$work/out"
says stdout "0 of 20 completed"
says stdout "20 requests failed: prompt + output exceed the context"
grep -qE '^ *cost +\$3\.59 an hour$' "$work/stdout" || fail "the table tells another cost"
says_not stdout "per million|nan|inf\b"
cp "$work/out/report.json" "$work/out/requests.csv" "$work"
python3 - "$work/report.json" <<'END' || fail "report.json is wrong"
import json, sys
report = json.load(open(sys.argv[1]))
assert report["requests"]["failed_by"] == {"context_length": 20}, report["requests"]
assert report["cost"] == {"per_hour": 3.59}, report["cost"]
assert "cost" not in report["intervals"] and "energy_j_per_token" not in report
END
says requests.csv ",failed,"
says requests.csv ",context_length"

simulate 1 --set engine.context_max=10 --json
says stdout '"context_length": 20'

status=0
"$foretoken" simulate examples/quickstart.toml --set workload.requests=20 \
  --set engine.context_max=10 --report "$work/page.html" --quiet 2>"$work/stderr" || status=$?
if ! grep -q "built without uPlot" "$work/stderr"; then
  [ "$status" -eq 1 ] || fail "with a page the status is $status"
  says page.html "20 failed: prompt + output exceed the context"
  says page.html "no output tokens"
fi

# Some fail: the others are served, and that is fine.
simulate 0 --set engine.context_max=1200
says stdout "requests failed: prompt + output exceed the context"
says stdout "per million output tokens"

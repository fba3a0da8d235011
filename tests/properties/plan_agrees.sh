#!/usr/bin/env bash
# On a space that is small enough, a plan gives the answer of trying everything, with fewer runs.
#
#   plan_agrees.sh FORETOKEN
set -euo pipefail
foretoken=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "plan_agrees: $1" >&2
  exit 1
}

# Fleets of tens of replicas: where a few would do, asking for one more each time is as quick.
arguments=(plan examples/plan.toml --gpus h200-sxm,b200-sxm --tp 2,4 --pp 1,2 --quick
           --set "workload.rate=600 /s" --set workload.requests=1800
           --set "plan.replications=[1, 1]" --set plan.gpus_max=256)
"$foretoken" "${arguments[@]}" --out "$work/search" >"$work/search.txt"
"$foretoken" "${arguments[@]}" --exhaustive --out "$work/all" >"$work/all.txt"

# GPU, TP, PP, units, GPUs and cost of the choices that no other beats.
front() { awk -F, '$10 == "yes" { print $1, $2, $3, $5, $6, $7 }' "$1/plan.csv"; }
front "$work/search" >"$work/search.front"
front "$work/all" >"$work/all.front"
[ -s "$work/all.front" ] || fail "nothing holds, so that nothing is compared"
diff -u "$work/all.front" "$work/search.front" >&2 || fail "the search found another front"
diff -u <(grep '★ cheapest:' "$work/all.txt") <(grep '★ cheapest:' "$work/search.txt") >&2 ||
  fail "the search found another answer"

runs() { sed -n 's/^ *\([0-9,]*\) runs made;.*/\1/p' "$1" | tr -d ,; }
[ "$(runs "$work/search.txt")" -lt "$(runs "$work/all.txt")" ] ||
  fail "$(runs "$work/search.txt") runs are no fewer than $(runs "$work/all.txt")"
echo "plan_agrees: $(runs "$work/search.txt") runs instead of $(runs "$work/all.txt")"

# However many run at once, the bytes are the same.
"$foretoken" "${arguments[@]}" --jobs 1 --quiet --out "$work/alone"
diff -r --exclude="runs.sqlite*" "$work/search" "$work/alone" >&2 || fail "with one run at a time the files differ"

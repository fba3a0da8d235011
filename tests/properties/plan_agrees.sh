#!/usr/bin/env bash
# On a space that is small enough, a plan gives the answer of trying everything, and simulates less.
# What a plan costs is engine iterations, of which a run that is cut short or looks at a part of the
# traffic has few. Large fleets are compared by runs: trying everything is only bearable where traffic
# is so short (4 s) that a fleet that fails is cut short at once, while one replica under its share,
# which the search asks first, sees minutes of it. There the search saves runs and simulates MORE (8
# times the iterations), which is said and not held.
#
#   plan_agrees.sh FORETOKEN small|large
set -euo pipefail
foretoken=$1 spaces=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "plan_agrees: $1" >&2
  exit 1
}

# Iterations that a plan's runs have simulated.
work() {
  python3 - "$1" <<'PYTHON'
import sqlite3, sys
print(sqlite3.connect(sys.argv[1] + "/runs.sqlite").execute(
    "SELECT sum(json_extract(report, '$.iterations')) FROM run WHERE state = 'ran'").fetchone()[0])
PYTHON
}
runs() { sed -n 's/^ *\([0-9,]*\) runs\( made\)\{0,1\}[;,].*/\1/p' "$1" | tr -d ,; }

# agree NAME COLUMNS ARGUMENT...: searched and tried out, the same choices that no other beats (in
# COLUMNS of plan.csv: the choice, units, GPUs, cost), the same answer, and no more work.
agree() {
  local label=$1 name=$folder/$1 columns=$2 searched tried
  shift 2
  "$foretoken" plan "$@" --quick --out "$name.search" >"$name.search.txt"
  "$foretoken" plan "$@" --quick --exhaustive --out "$name.all" >"$name.all.txt"
  for way in search all; do
    awk -F, -v columns="$columns" '{ for (i = 1; i <= NF; ++i) if (NR == 1) at[$i] = i
      if (NR > 1 && $at["front"] == "yes") { n = split(columns, c, " ")
        for (i = 1; i <= n; ++i) printf "%s ", $at[c[i]]; print "" } }' \
      "$name.$way/plan.csv" >"$name.$way.front"
  done
  [ -s "$name.all.front" ] || fail "$label: nothing holds, so that nothing is compared"
  diff -u "$name.all.front" "$name.search.front" >&2 || fail "$label: the search found another front"
  diff -u <(grep '★ cheapest:' "$name.all.txt") <(grep '★ cheapest:' "$name.search.txt") >&2 ||
    fail "$label: the search found another answer"
  searched=$(work "$name.search") tried=$(work "$name.all")
  if [ "$label" != many ] && [ "$searched" -gt "$tried" ]; then
    fail "$label: $searched iterations are more than $tried"
  fi
  echo "plan_agrees: $label: $searched iterations instead of $tried, $(runs "$name.search.txt") runs" \
    "instead of $(runs "$name.all.txt")"
}

small() {
  # Where a few replicas do, no search takes more than counting up.
  local few=(examples/plan.toml --gpus h200-sxm,b200-sxm,l40s --tp 2,4,8 --pp 1
             --set workload.requests=100 --set "plan.replications=[2, 3]" --set plan.gpus_max=32)
  agree few "gpu deployment.tensor_parallel units gpus dollars_per_hour" "${few[@]}"

  # Pools on groups of nodes of a cluster.
  agree groups "pools units gpus dollars_per_hour" \
    examples/heterogeneous_pools.toml --clusters examples/clusters/h100_and_h200.toml \
    --pools 1:1,2:1,1:2,2:2 --set "workload.rate=14 /s" --set workload.requests=120 \
    --set "plan.replications=[1, 1]"

  # However many run at once, the bytes are the same.
  "$foretoken" plan "${few[@]}" --quick --jobs 1 --quiet --out "$folder/alone"
  diff -r --exclude="runs.sqlite*" "$folder/few.search" "$folder/alone" >&2 ||
    fail "with one run at a time the files differ"

  # A format that one of the GPUs has no path for is no end of the plan.
  "$foretoken" plan examples/plan.toml --gpus a100-sxm,b200-sxm --tp 4 --pp 1 --dtype bf16,fp8 --quick \
    --set workload.requests=50 --out "$folder/formats" >"$folder/formats.txt"
  grep -q 'cannot be priced: gemm in fp8: a100-sxm has no matrix path' "$folder/formats.txt" ||
    fail "nothing says why a100-sxm cannot take fp8"
}

large() {
  # Fleets of tens of replicas, under so many requests that the SLO is met by more where there are more of
  # them: a search halves, and counting stops at the first that happens to hold.
  agree many "gpu deployment.tensor_parallel units gpus dollars_per_hour" \
    examples/plan.toml --gpus h200-sxm,b200-sxm --tp 2 --pp 1 --set "workload.rate=600 /s" \
    --set workload.requests=2400 --set "plan.replications=[1, 1]" --set plan.gpus_max=256
  [ "$(runs "$folder/many.search.txt")" -le $(($(runs "$folder/many.all.txt") * 2 / 3)) ] ||
    fail "a search among large fleets saves less than a third of the runs"

  # Under a thousand requests and more, what latency alone could save is looked at under a part of them.
  agree looks "gpu deployment.tensor_parallel deployment.pipeline_parallel units gpus dollars_per_hour" \
    examples/plan.toml --gpus h200-sxm,b200-sxm --tp 4,8 --pp 1,2 --set plan.gpus_max=16

  # Ratios of pools.
  agree pools "gpu pools pool.decode.tensor_parallel units gpus dollars_per_hour" \
    examples/plan_pools.toml --set workload.requests=120 --set "plan.replications=[1, 1]"
}

case $spaces in
  small | large) "$spaces" ;;
  *) fail "no spaces are called '$spaces'" ;;
esac

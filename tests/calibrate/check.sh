#!/usr/bin/env bash
# Whole runs of foretoken-calibrate.
#
#   check.sh FORETOKEN_CALIBRATE CASE [FORETOKEN]
set -euo pipefail
calibrate=$1 case=$2 foretoken=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
case $case in diagnosis) ;; *) unset FORETOKEN_DATA ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "$1" >&2; exit 1; }

# A command that must fail with status 2 and this in its message.
refused() {  # TEXT ARGUMENTS…
  local text=$1 status=0
  shift
  "$calibrate" "$@" > "$work/said" 2>&1 || status=$?
  [ $status -eq 2 ] || fail "$*: exit status $status instead of 2"
  grep -qF -- "$text" "$work/said" || { cat "$work/said" >&2; fail "$*: does not say '$text'"; }
}

case $case in
same_in_processes)
  # One process or three: the same table, also of what is trained for it.
  for jobs in 1 3; do
    "$calibrate" evaluate --family rope --predictor all --epochs 3 --jobs $jobs --json "$work/$jobs.json" \
      > "$work/$jobs.txt"
  done
  cmp "$work/1.txt" "$work/3.txt" && cmp "$work/1.json" "$work/3.json"
  grep -q '^synperf has the lowest error in ' "$work/1.txt" || fail "no verdict"
  ;;
trains_again)
  # The same recipe gives the same file, byte for byte, alone and beside others.
  "$calibrate" train --family rope --out "$work/one"
  "$calibrate" train --family rope --jobs 2 --out "$work/two"
  cmp "$work/one/rope.json" "$work/two/rope.json"
  "$calibrate" train --family rope --baseline neusight --out "$work/one"
  "$calibrate" evaluate --family rope --artifacts "$work/one" > "$work/judged"
  # Settings and data are in the file.
  for said in '"dropout": 0.0' '"own/h200/rope.csv": "' '"library": "LibTorch'; do
    grep -qF "$said" "$work/one/rope.json" || fail "the artifact does not say $said"
  done
  ;;
diagnosis)
  # The commands that the datasets' page prints, as it prints them, on whatever data there is.
  page=$PWD/calibration/datasets/README.md
  ln -s "$PWD/calibration" "$work/calibration"
  mkdir -p "$work/build/release"
  ln -s "$calibrate" "$work/build/release/foretoken-calibrate"
  ln -s "$foretoken" "$work/build/release/foretoken"
  mapfile -t lines < <(sed -n '/^## Diagnosis/,/^## /s/^    \(build\/.*\)/\1/p' "$page")
  [ ${#lines[@]} -eq 2 ] || fail "${#lines[@]} commands are printed under Diagnosis instead of 2"
  for line in "${lines[@]}"; do
    (cd "$work" && bash -c "$line") > "$work/said" 2>&1 || { cat "$work/said" >&2; fail "$line"; }
  done
  grep -q fused_moe "$work/said" || fail "diagnose does not speak of fused_moe"
  if [ -n "${FORETOKEN_DATA:-}" ]; then
    python3 tests/calibrate/dataset_page.py diagnosis "$work/said" || fail "the page's table is not this"
  fi
  # Histograms too: what the dump writes is what was measured.
  "$calibrate" dump --kernel fused_moe --cases --every 97 --out "$work/cases.csv" > /dev/null
  "$calibrate" dump --kernel fused_moe --every 97 --out "$work/plain.csv" > /dev/null
  [ "$(wc -l < "$work/cases.csv")" -eq "$(($(wc -l < "$work/plain.csv") + 2))" ] || fail "rows are missing"
  ;;
promises)
  # In every cell of the held-out table twice the promised error covers 85 to 95 % of the launches:
  # the page's figure, which golden.calibration/ACCURACY holds against what the program prints.
  read -r sound all < <(sed -n 's/.* in \([0-9]*\) of \([0-9]*\) cells$/\1 \2/p' calibration/ACCURACY.md)
  [ "$all" -ge 60 ] || fail "only $all cells"
  [ "$sound" -eq "$all" ] ||
    fail "$sound of $all cells are covered; foretoken-calibrate evaluate --promises shows which"
  ;;
says_what_is_wrong)
  refused "did you mean 'neusight'" evaluate --family rope --predictor neusigt
  refused "--also: unknown predictor 'wav'; did you mean 'wave'" evaluate --family rope --also wav
  refused "--also: cannot be combined with --split few or sibling, which have their own columns" evaluate --split few --also wave
  refused "--promises: needs predictor synperf as shipped" evaluate --promises --split own
  refused "did you mean 'hopper'" evaluate --family rope --split hoper
  refused "did you mean 'rope'" train --family rop --out "$work"
  refused "did you mean 'linear'" train --baseline liner --out "$work"
  refused "there are no measurements of 'gemm_4bit'" train --family gemm_4bit --out "$work"
  refused "there are no measured steps" evaluate --split steps
  refused "has no executed steps" evaluate --steps --own "$work"
  refused "cannot read this file" train --family rope --recipes no/such.toml --out "$work"
  ;;
outputs)
  # A full disk, a file or the terminal, ends with a status; what was there stays.
  full() {
    local status=0
    "$@" 2> "$work/said" || status=$?
    [ $status -eq 1 ] || fail "$*: exit status $status instead of 1"
    grep -q "No space left on device" "$work/said" || fail "$*: $(cat "$work/said")"
  }
  full "$calibrate" evaluate --family rope > /dev/full
  full "$calibrate" dump --kernel rope --out "$work/full.csv" > /dev/full
  full "$calibrate" --help > /dev/full
  full "$calibrate" dump --kernel rope --out /dev/full > /dev/null
  full "$calibrate" dump --kernel rope --cases --out /dev/full > /dev/null
  full "$calibrate" evaluate --family rope --json /dev/full > /dev/null
  full "$calibrate" evaluate --tiles --json /dev/full > /dev/null
  refused "/dev/full" fit --stream-k --out /dev/full  # a folder
  # Killed before it ends: the old file stays.
  echo old > "$work/kept.csv"
  (ulimit -f 1 && exec "$calibrate" dump --kernel rope --out "$work/kept.csv") > /dev/null 2>&1 &&
    fail "a file larger than allowed was written"
  [ "$(cat "$work/kept.csv")" = old ] || fail "kept.csv was touched"
  # A damaged histogram is a mistake with its row, whose bytes do not reach the terminal.
  { zcat calibration/datasets/h200/moe_configurations.csv.gz | sed -n '1,/^[^#]/p'
    printf 'x\033]0;title\007,1\n'; } > "$work/damaged.csv"
  refused "damaged.csv:" fit wave "$work/damaged.csv" --out "$work/none.json"
  ! grep -q $'\033' "$work/said" || fail "an escape reached the terminal"
  ;;
*) fail "no case '$case'" ;;
esac

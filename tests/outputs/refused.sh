#!/usr/bin/env bash
# What cannot be written is told: standard output on a full disk ends with status 1, an output that
# names an input, or two outputs of one name, with status 2 and everything as it was.
#
#   refused.sh FORETOKEN
set -uo pipefail
foretoken=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
examples=$PWD/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
complain() {
  echo "$*" >&2
  failures=$((failures + 1))
}

few="--set workload.requests=20"
# A full disk, whatever is printed.
full() {
  "$foretoken" "$@" >/dev/full 2>"$work/stderr" </dev/null
  local status=$?
  [ "$status" -eq 1 ] || complain "foretoken $* > /dev/full: status $status, not 1"
  grep -q "No space left on device" "$work/stderr" || complain "foretoken $* says: $(cat "$work/stderr")"
}
full simulate examples/quickstart.toml $few
full simulate examples/quickstart.toml $few --json
full compare examples/quickstart.toml $few --tp 1 --out "$work/compare"
full compare examples/quickstart.toml $few --tp 1 --out "$work/compare" --json
full predict --gpu h200-sxm examples/kernels.jsonl
full step --model llama-3.1-8b --gpu h200-sxm --decode 4x100
full step --model llama-3.1-8b --gpu h200-sxm --decode 4x100 --json
full sweep examples/quickstart.toml $few --vary run.seed=1,2 --store "$work/full.sqlite"
full sweep examples/quickstart.toml $few --vary run.seed=1,2 --store "$work/full.sqlite" --json
full explain examples/quickstart.toml $few --split-only
full validate examples/served --json
full plan examples/plan.toml --dry-run
full gpu list
full gpu show h200-sxm --json
full model list
full cluster list
full engine list
full list
full man
full completion bash
full --help
full simulate --help
full

# A file on a full disk takes nothing from what is printed.
"$foretoken" simulate examples/quickstart.toml $few --steps /dev/full >"$work/stdout" 2>"$work/stderr"
status=$?
[ "$status" -eq 1 ] || complain "simulate --steps /dev/full: status $status, not 1"
grep -q "TTFT" "$work/stdout" || complain "simulate --steps /dev/full printed no table"
grep -q "/dev/full: could not be written completely: No space left" "$work/stderr" ||
  complain "simulate --steps /dev/full says: $(cat "$work/stderr")"
rm "$work/stdout"

# Ctrl-C ends with status 130 and a word.
interrupted() {
  timeout --preserve-status --signal=INT 1 "$foretoken" "$@" >/dev/null 2>"$work/stderr" </dev/null
  local status=$?
  [ "$status" -eq 130 ] || complain "foretoken $*, interrupted: status $status, not 130"
  [ "$(cat "$work/stderr")" = "foretoken: interrupted" ] ||
    complain "foretoken $*, interrupted, says: $(cat "$work/stderr")"
}
long="--set workload.requests=2000000"
interrupted simulate examples/quickstart.toml $long --quiet
interrupted explain examples/quickstart.toml $long

# Outputs that are inputs, called by their own name, by a link or by a second name.
cp examples/quickstart.toml "$work/s.toml"
ln -s s.toml "$work/link.toml"
ln "$work/s.toml" "$work/hard.toml"
cp -r examples/traces "$work/traces"
cp -r examples/served "$work/served"
cp examples/trace_csv.toml "$work/t.toml"
cp calibration/datasets/h200/rms_norm.csv "$work/m.csv"
mkdir "$work/folder"
cp examples/quickstart.toml "$work/folder/scenario.toml"
(cd "$work" && find . -type f ! -name "*.sqlite*" ! -name stderr ! -name before.sums \
  -exec sha256sum {} + | sort) >"$work/before.sums"
refused() {
  (cd "$work" && "$foretoken" "$@") >"$work/stdout" 2>"$work/stderr" </dev/null
  local status=$?
  [ "$status" -eq 2 ] || complain "foretoken $*: status $status, not 2: $(cat "$work/stderr")"
  [ ! -s "$work/stdout" ] || complain "foretoken $* wrote to standard output"
  grep -qE "would be overwritten; name another|would be written twice" "$work/stderr" ||
    complain "foretoken $* says: $(cat "$work/stderr")"
}
for output in s.toml ./s.toml "$work/s.toml" link.toml hard.toml; do
  refused simulate s.toml --report "$output"
done
refused simulate s.toml --trace s.toml
refused simulate s.toml --steps s.toml
refused simulate t.toml --report traces/requests.csv
refused simulate t.toml --set workload.trace=traces/azure.csv --set workload.trace_format=azure \
  --steps traces/azure.csv
refused simulate folder/scenario.toml --out folder
refused simulate s.toml --report page.html --steps page.html
refused simulate s.toml --out new --report new/report.json
if "$foretoken" simulate examples/quickstart.toml $few --report "$work/page.html" --quiet; then  # npm was there
  refused compare s.toml --tp 1 --report s.toml
  refused sweep s.toml --vary run.seed=1,2 --report s.toml
  refused plan s.toml --gpus h200-sxm --report s.toml
  refused explain s.toml --report s.toml
  refused validate served --report served/meta.json
  refused validate served --report served/requests.jsonl
fi
refused sweep s.toml --vary run.seed=1,2 --csv s.toml
refused sweep s.toml --vary run.seed=1,2 --json s.toml
refused sweep s.toml --vary run.seed=1,2 --store s.toml
refused plan s.toml --gpus h200-sxm --store s.toml
refused diagnose m.csv --csv m.csv
(cd "$work" && sha256sum --quiet -c before.sums) >&2 || complain "an input was written over"

# Numbers that are none.
for command in "compare s.toml --tp 1" "sweep s.toml --vary run.seed=1,2" "explain s.toml" \
  "plan s.toml --gpus h200-sxm"; do
  (cd "$work" && "$foretoken" $command --jobs -1) >/dev/null 2>"$work/stderr"
  status=$?
  [ "$status" -eq 2 ] || complain "foretoken $command --jobs -1: status $status, not 2"
done
for cases in "$work/folder" /proc/self/mem; do
  "$foretoken" predict --gpu h200-sxm "$cases" >"$work/stdout" 2>"$work/stderr"
  status=$?
  [ "$status" -eq 2 ] || complain "foretoken predict $cases: status $status, not 2"
done

# A path on the command line starts where the user stands, in a file at the file's folder.
fine() {
  "$foretoken" "$@" >"$work/stdout" 2>"$work/stderr" || complain "foretoken $*: $(cat "$work/stderr")"
}
here="--set cluster.name=examples/gpus/imaginary-x1.toml"
fine simulate examples/quickstart.toml $few $here --out "$work/resolved"
fine simulate "$work/resolved/scenario.toml" --quiet
fine step --scenario examples/quickstart.toml --decode 4x100 $here
fine explain examples/quickstart.toml $few $here --split-only
fine compare examples/quickstart.toml $few $here --tp 1 --out "$work/here"
fine sweep examples/quickstart.toml $few --vary cluster.name=examples/gpus/imaginary-x1.toml \
  --store "$work/here.sqlite"
price='plan.prices.imaginary-x1="4.00 USD/h"'  # its file names none
fine plan examples/quickstart.toml --clusters examples/gpus/imaginary-x1.toml --set "$price" --dry-run
cp examples/quickstart.toml "$work/choices.toml"
cp -r examples/gpus "$work/gpus"
printf '\n[plan]\nclusters = ["gpus/imaginary-x1.toml"]\n' >>"$work/choices.toml"
fine plan "$work/choices.toml" --set "$price" --dry-run
grep -q imaginary "$work/stdout" || complain "[plan] clusters: $(cat "$work/stdout")"
(cd "$work" && "$foretoken" simulate "$examples/quickstart.toml" $here) >/dev/null 2>"$work/stderr" &&
  complain "a path from elsewhere was found"
grep -q -- "--set cluster.name=examples/gpus/imaginary-x1.toml" "$work/stderr" || cat "$work/stderr" >&2
# Options that contradict each other, and numbers that are none: a message of one line.
told() {  # TEXT argument…
  local text=$1
  shift
  "$foretoken" "$@" >"$work/stdout" 2>"$work/stderr"
  local status=$?
  [ "$status" -eq 2 ] || complain "foretoken $*: status $status, not 2"
  grep -qF -- "$text" "$work/stderr" || complain "foretoken $* says: $(cat "$work/stderr")"
}
told "must be a number above 0, not 0" plan examples/plan.toml --jobs 0
told "must be a number above 0, not -1" sweep examples/quickstart.toml --jobs -1
for speed in nan 0 1001 fast; do
  told "must be a number from 0.001 to 1000, not $speed" serve examples/quickstart.toml --speed "$speed"
done
told "must be a number from 0 to 1, not nan" diagnose nothing.csv --gap nan
for option in --cheapest --exhaustive --all; do
  told "$option: applies to a search among deployments, not to --max-load" \
    plan examples/plan.toml --max-load "$option"
done
[ "$failures" -eq 0 ]

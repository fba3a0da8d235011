#!/bin/bash
# A new GPU as its owner meets it: choose launches, measure them, adapt, and every price is better
# and says so. The new GPU is nearly an H200, on which every norm takes 1.3 times as long as measured.
# usage: check.sh FORETOKEN-CALIBRATE FORETOKEN SOURCE-TREE
set -euo pipefail
calibrate=$1 foretoken=$2 source=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
fail() { echo "FAILED: $*"; exit 1; }

mkdir all my
sed 's/^name = .*/name = "new"/; s/^dram_bandwidth = .*/dram_bandwidth = "4910 GB\/s"/' "$source/hardware/specs/gpus/h200-sxm.toml" > new.toml
awk -F, -v OFS=, '/^#/ {print; next} !time {for (i = 1; i <= NF; ++i) if ($i == "time_us") time = i
                  print; next} {$time *= 1.3; print}' \
  "$source/calibration/datasets/h200/rms_norm.csv" > all/rms_norm.csv
case='{"kernel":"rms_norm","tokens":4096,"dim":4096,"dtype":"bf16"}'
price() { echo "$case" | "$foretoken" predict --gpu new.toml "$@" -; }
time_of() { sed 's/.*"time_us":\([0-9.]*\).*/\1/'; }

before=$(price)
grep -q '"origin":"transferred"' <<< "$before" || fail "not transferred before: $before"

"$calibrate" choose --gpu new.toml all --count 40 --out chosen
[ "$(grep -c '^rms_norm,' chosen/rms_norm.csv)" = 40 ] || fail "40 launches were to be chosen"
# "Measures" the chosen ones: their rows, from the whole.
grep '^#\|^kernel' all/rms_norm.csv > my/rms_norm.csv
grep -v '^#\|^kernel' chosen/rms_norm.csv | while read -r row; do
  grep -m 1 "^$row," all/rms_norm.csv
done >> my/rms_norm.csv

said=$("$calibrate" adapt --gpu new.toml my)
echo "$said"
grep -q 'rms_norm: 40 launches, error 2[0-9]\.. % before, [0-4]\.. % after' <<< "$said" ||
  fail "adapting said: $said"
grep -q 'applied from now on wherever new.toml is used' <<< "$said" || fail "adapting said: $said"

after=$(price)
grep -q '"origin":"adapted"' <<< "$after" || fail "not adapted: $after"
awk -v before="$(time_of <<< "$before")" -v after="$(time_of <<< "$after")" \
  'BEGIN {ratio = after / before; exit !(ratio > 1.2 && ratio < 1.4)}' ||
  fail "$after after $before: not 1.3 times as long"

# The same launches adapt to the same file; a file that was cut off is named.
cp new.adaptation.json first.json
"$calibrate" adapt --gpu new.toml my > /dev/null
cmp first.json new.adaptation.json || fail "adapting twice gave two files"
head -c 300 first.json > new.adaptation.json
price > broken.txt && fail "a broken file was taken"
grep -q 'new.adaptation.json' broken.txt || fail "the broken file is not named: $(cat broken.txt)"

# Measurements of another GPU are refused, with file and line.
sed 's/^# sm_count: .*/# sm_count: 108/' my/rms_norm.csv > other.csv
"$calibrate" adapt --gpu new.toml other.csv 2> error.txt && fail "another GPU was taken"
grep -q "other.csv:[0-9]*: sm_count is 108, but 'new' has 132 SMs" error.txt ||
  fail "wrong message: $(cat error.txt)"

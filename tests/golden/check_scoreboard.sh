#!/usr/bin/env bash
# The scoreboard of whole servers: of every 32nd row of all measured servers it is what the program
# writes today (SERVERS.sample.md beside this). All rows take ten minutes: whatever moves the sample
# moves the page that readers see (calibration/SERVERS.md), and --bless writes both. Needs
# FORETOKEN_DATA; without it nothing is looked at (77).
#
#   check_scoreboard.sh FORETOKEN           compares the sample
#   check_scoreboard.sh FORETOKEN --bless   writes sample and page anew
set -euo pipefail
foretoken=$1 bless=${2:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sample=$here/SERVERS.sample.md page=$here/../../calibration/SERVERS.md
if [ -z "${FORETOKEN_DATA:-}" ]; then
  echo "no FORETOKEN_DATA: the scoreboard is not looked at"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tables=() samples=()
for name in silicon_agg_h100 silicon_agg_2 silicon_disagg inferencex_vllm_8gpu; do
  tables+=("$FORETOKEN_DATA/serving/$name.csv.gz")
  samples+=("$work/$name.csv")
  zcat "${tables[-1]}" | awk 'NR == 1 || NR % 32 == 7' >"${samples[-1]}"
done
"$foretoken" validate --silicon "${samples[@]}" --scoreboard "$work/sample.md" --quiet
if [ "$bless" = --bless ]; then
  "$foretoken" validate --silicon "${tables[@]}" --scoreboard "$page" --quiet
  cp "$work/sample.md" "$sample"
elif ! diff -u "$sample" "$work/sample.md"; then
  echo "the scoreboard is out of date; bash tests/bless.sh SERVERS writes today's" >&2
  exit 1
fi

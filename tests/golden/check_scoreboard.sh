#!/usr/bin/env bash
# The scoreboard of whole servers (calibration/SERVERS.md) is what the program writes today from all
# measured servers: some minutes of work, and nothing without FORETOKEN_DATA (77).
#
#   check_scoreboard.sh FORETOKEN           compares
#   check_scoreboard.sh FORETOKEN --bless   writes the page anew
set -euo pipefail
foretoken=$1 bless=${2:-}
page=$(dirname "${BASH_SOURCE[0]}")/../../calibration/SERVERS.md
if [ -z "${FORETOKEN_DATA:-}" ]; then
  echo "no FORETOKEN_DATA: the scoreboard is not looked at"
  exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tables=()
for name in silicon_agg_h100 silicon_agg_2 silicon_disagg inferencex_vllm_8gpu; do
  tables+=("$FORETOKEN_DATA/serving/$name.csv.gz")
done
"$foretoken" validate --silicon "${tables[@]}" --scoreboard "$work/SERVERS.md" --quiet
if [ "$bless" = --bless ]; then
  cp "$work/SERVERS.md" "$page"
elif ! diff -u "$page" "$work/SERVERS.md"; then
  echo "the scoreboard is out of date; bash tests/bless.sh SERVERS writes today's" >&2
  exit 1
fi

#!/usr/bin/env bash
# What a page of the documentation shows is what the program prints: each block after a line
#   <!-- output of: foretoken ARGUMENTS -->
# is held against the output of that command, byte for byte; foretoken-calibrate, which stands beside
# foretoken, likewise. Its figures need measurements: without FORETOKEN_DATA such a page is skipped (77).
#
#   check_readme.sh PAGE FORETOKEN           compares
#   check_readme.sh PAGE FORETOKEN --bless   rewrites the blocks of PAGE
set -euo pipefail
page=$1 foretoken=$2 bless=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The blocks, as 1.cmd and 1.shown, 2.cmd …
awk -v work="$work" '
  /^<!-- output of: foretoken[-a-z]* .* -->$/ {
    block = work "/" ++count
    sub(/^<!-- output of: /, ""); sub(/ -->$/, "")
    print > (block ".cmd"); close(block ".cmd")
    awaited = 1; next
  }
  awaited && /^```/ { awaited = 0; inside = 1; printf "" > (block ".shown"); next }
  inside && /^```/ { inside = 0; close(block ".shown"); next }
  inside { print > (block ".shown") }
' "$page"
[ -f "$work/1.cmd" ] || { echo "$page shows no output; this test has lost its marker" >&2; exit 1; }

if grep -q '^foretoken-calibrate ' "$work"/*.cmd && [ -z "${FORETOKEN_DATA:-}" ]; then
  echo "no FORETOKEN_DATA: $page is not looked at"
  exit 77
fi

status=0
for command in "$work"/*.cmd; do
  eval "set -- $(cat "$command")"
  program=$(dirname "$foretoken")/$1
  "$program" "${@:2}" >"${command%.cmd}.actual" </dev/null
  [ "$bless" = --bless ] && continue
  diff -u --label "$page: $*" --label "what it prints" "${command%.cmd}.shown" \
    "${command%.cmd}.actual" >&2 || status=1
done
if [ "$bless" = --bless ]; then
  awk -v work="$work" '
    inside && /^```/ { inside = 0 }
    inside { next }
    { print }
    /^<!-- output of: foretoken[-a-z]* .* -->$/ { ++count; awaited = 1 }
    awaited && /^```/ {
      awaited = 0; inside = 1
      while ((getline line < (work "/" count ".actual")) > 0) print line
    }
  ' "$page" >"$work/page.md"
  cp "$work/page.md" "$page"
elif [ "$status" -ne 0 ]; then
  echo "$page is out of date; bash tests/bless.sh README (or ACCURACY) shows it today's output." >&2
fi
exit "$status"

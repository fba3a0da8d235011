#!/usr/bin/env bash
# pages.sh FORETOKEN SOURCE: a page is written. Skipped (77) where the program was built without pages: then the golden
# checks (tests/golden/check.sh report), which look at every example's page, had none to look at.
set -euo pipefail
foretoken=$1
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$foretoken" simulate examples/quickstart.toml --json --report "$work/page.html" >"$work/report.json" 2>"$work/errors" || {
  status=$?
  grep -q 'built without' "$work/errors" && exit 77
  echo "pages: ends with status $status: $(cat "$work/errors")" >&2
  exit 1
}
python3 tests/golden/check_page.py "$work/page.html" "$work/report.json" quickstart

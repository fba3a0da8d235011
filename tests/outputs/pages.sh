#!/usr/bin/env bash
# pages.sh FORETOKEN SOURCE: every example's page is written, whole, with parts that parse and the figures that the
# terminal tells. tests/page opens some of them in a browser.
set -euo pipefail
foretoken=$1
cd "$2"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for scenario in examples/*.toml; do
  name=$(basename "$scenario" .toml)
  "$foretoken" simulate "$scenario" --json --report "$work/page.html" >"$work/report.json" 2>"$work/errors" || {
    status=$?
    grep -q 'built without' "$work/errors" && exit 77
    echo "pages: $name ends with status $status: $(cat "$work/errors")" >&2
    exit 1
  }
  python3 - "$work" "$name" <<'EOF'
import json, re, sys
folder, name = sys.argv[1:]
with open(f"{folder}/page.html", encoding="utf-8") as file:
    page = file.read()
with open(f"{folder}/report.json", encoding="utf-8") as file:
    report = json.load(file)
assert page.endswith("</html>\n"), f"{name}: the page is cut off"
data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)[1])
parts = data["parts"]
kinds = {part["kind"] for part in parts}
assert {"section", "tiles", "text"} <= kinds, f"{name}: {kinds}"
text = json.dumps(parts)
assert f'{report["requests"]["arrived"]:,}' in text, f"{name}: not how many requests came"
EOF
done

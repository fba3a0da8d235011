#!/usr/bin/env bash
# Writes an HTML report and opens it in headless Chromium (check.js). Status 77: skipped, because
# Chromium, node or what npm installs is missing; it says which.
#
#   check.sh FORETOKEN NODE_MODULES simulate|disaggregated|compare|validate|hundred_thousand [FOLDER]
#
# FOLDER keeps the pages and screenshots.
set -euo pipefail
foretoken=$1 modules=$2 kind=$3 kept=${4:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

skip() {
  echo "skipped: $*"
  exit 77
}
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
  skip "no Chromium (apt-get install chromium)"
command -v node >/dev/null || skip "no node (apt-get install nodejs)"
[ -d "$modules/chrome-remote-interface" ] || skip "npm could not install tests/page when configuring"

work=${kept:-$(mktemp -d)}
mkdir -p "$work"
[ -n "$kept" ] || trap 'rm -rf "$work"' EXIT
page=$work/$kind.html

case $kind in
  simulate) set -- simulate examples/quickstart.toml --out "$work/$kind" ;;
  disaggregated) set -- simulate examples/disaggregated.toml --set workload.requests=200 ;;
  compare)
    set -- compare examples/tensor_parallel.toml --set workload.requests=60 --tp 1,2,4 --replicas auto \
      --out "$work/$kind"
    ;;
  validate) set -- validate examples/served ;;
  hundred_thousand)
    set -- simulate examples/quickstart.toml --set workload.requests=100000 --set predictor.name=roofline \
      --set deployment.replicas=8 --set cluster.name=h200-sxm-8 --set "workload.rate=60 /s" \
      --out "$work/$kind"
    ;;
  *)
    echo "check.sh: unknown kind '$kind'" >&2
    exit 2
    ;;
esac
status=0
"$foretoken" "$@" --quiet --report "$page" 2>"$work/stderr" || status=$?
if grep -q "built without uPlot" "$work/stderr"; then skip "$(cat "$work/stderr")"; fi
[ "$status" -eq 0 ] || { cat "$work/stderr" >&2; exit 1; }

size=$(stat -c %s "$page")
if [ "$size" -gt 5000000 ]; then
  echo "$page has $size bytes, more than 5 MB" >&2
  exit 1
fi
# Whatever is left would be a request.
if grep -oE '(src|href)="?https?:' "$page" >&2; then
  echo "$page refers to the network" >&2
  exit 1
fi
node tests/page/check.js "$chromium" "$modules" "$work" "$page"

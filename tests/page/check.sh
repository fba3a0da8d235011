#!/usr/bin/env bash
# Writes an HTML report and opens it in headless Chromium (check.js). Status 77: skipped, because
# Chromium, node or what npm installs is missing; it says which.
#
#   check.sh FORETOKEN NODE_MODULES KIND [FOLDER]     simulate, compare, plan …: the cases below
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
expected=0

case $kind in
  simulate) set -- simulate examples/quickstart.toml --out "$work/$kind" ;;
  disaggregated) set -- simulate examples/disaggregated.toml --set workload.requests=200 ;;
  compare)
    set -- compare examples/tensor_parallel.toml --set workload.requests=60 --tp 1,2,4 --replicas auto \
      --out "$work/$kind"
    ;;
  plan)
    set -- plan examples/plan.toml --gpus h200-sxm,b200-sxm,l40s --tp 1,2,4,8 --pp 1,4 \
      --set workload.requests=200 --set plan.replications=[1,2] --set plan.gpus_max=32 \
      --out "$work/$kind"
    ;;
  plan_none)  # nothing holds
    set -- plan examples/plan.toml --gpus h200-sxm --tp 4 --pp 1 --set workload.requests=200 \
      --set "slo.ttft=1 ms" --out "$work/$kind"
    expected=1
    ;;
  max_load)
    set -- plan examples/tensor_parallel.toml --max-load --clusters h100-sxm-8,b200-sxm-8 --tp 2,4 \
      --set workload.requests=100 \
      --vary gpu.dram_bandwidth=+20% --vary gpu.dram_bandwidth=-20% --vary gpu.nvlink_bandwidth=x2 \
      --set plan.replications=[1,1] --set plan.tolerance=0.05 --out "$work/$kind"
    ;;
  sweep)  # one key of numbers, the last of which cannot be
    set -- sweep examples/quickstart.toml --vary deployment.tensor_parallel=1,2,4,3 \
      --set cluster.name=h200-sxm-8 --set workload.requests=60 --store "$work/$kind.sqlite"
    ;;
  sweep_names)  # two keys without numbers, seeds
    set -- sweep examples/tensor_parallel.toml --vary cluster.name=h100-sxm-8,h200-sxm-8 \
      --vary engine.preset=vllm-v1,sglang,tensorrt-llm --seeds 2 --set workload.requests=40 \
      --store "$work/$kind.sqlite"
    ;;
  sweep_three)
    set -- sweep examples/quickstart.toml --vary "workload.rate=4 /s,8 /s,12 /s" \
      --vary deployment.tensor_parallel=1,2 --vary engine.scheduler=vllm_v1,sglang --seeds 3 \
      --set cluster.name=h200-sxm-8 --set workload.requests=60 --store "$work/$kind.sqlite"
    ;;
  sweep_zip)
    set -- sweep examples/quickstart.toml --zip --vary cluster.name=h100-sxm-1,h200-sxm-1 \
      --vary "workload.rate=5 /s,8 /s" --set workload.requests=60 --store "$work/$kind.sqlite"
    ;;
  sweep_many)  # a thousand points
    set -- sweep examples/quickstart.toml --set predictor.name=roofline --set workload.requests=3 \
      --vary "workload.rate=$(seq -s ' /s,' 1 50) /s" --vary "engine.sequences_max=$(seq -s , 1 20)" \
      --store "$work/$kind.sqlite"
    ;;
  explain) set -- explain examples/quickstart.toml --set workload.requests=100 ;;
  explain_tpot)  # where sequences make way for others
    set -- explain examples/swap.toml --percentile tpot:99
    ;;
  validate) set -- validate examples/served ;;
  hundred_thousand)  # of short answers: the page draws requests, not steps
    set -- simulate examples/quickstart.toml --set workload.requests=100000 --set predictor.name=roofline \
      --set deployment.replicas=8 --set cluster.name=h200-sxm-8 --set "workload.rate=60 /s" \
      --set workload.output_tokens=40 \
      --out "$work/$kind"
    ;;
  *)
    echo "check.sh: unknown kind '$kind'" >&2
    exit 2
    ;;
esac
status=0
[ "$1" = explain ] || set -- "$@" --quiet
"$foretoken" "$@" --report "$page" >"$work/stdout" 2>"$work/stderr" || status=$?
if grep -q "built without uPlot" "$work/stderr"; then skip "$(cat "$work/stderr")"; fi
[ "$status" -eq "$expected" ] || { cat "$work/stderr" >&2; exit 1; }

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
# The same page again from the store alone.
if [ "$1" = sweep ]; then
  "$foretoken" "$@" --report "$page.again" --no-run
  cmp "$page" "$page.again"
fi
node tests/page/check.js "$chromium" "$modules" "$kept" "$page"

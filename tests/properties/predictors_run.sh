#!/usr/bin/env bash
# Any example runs with any predictor, or says before time 0 why not: dense and expert models,
# formats and kernels that only some predictors know.
#
#   predictors_run.sh FORETOKEN
set -euo pipefail
foretoken=$1
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  cat "$work/stderr" >&2
  echo "$*" >&2
  exit 1
}
run() {  # STATUS EXAMPLE PREDICTOR argument…
  local wanted=$1 example=$2 predictor=$3 status=0
  shift 3
  "$foretoken" simulate "examples/$example.toml" --set "predictor.name=$predictor" \
    --set workload.requests=6 "$@" >"$work/stdout" 2>"$work/stderr" || status=$?
  [ "$status" -eq "$wanted" ] || fail "$example with $predictor ended with status $status"
}

for example in quickstart mixture_of_experts gpt_oss deepseek_v3_ep32 int4_weights speculative_eagle \
  million_tokens; do
  for predictor in synperf roofline linear neusight synperf_paper synperf_without_mio \
    synperf_without_math synperf_without_network tritonblas wave; do
    run 0 "$example" "$predictor"
    cp "$work/stdout" "$work/$example.$predictor"
  done
done
for example in quickstart mixture_of_experts; do
  for predictor in linear wave; do
    ! cmp -s "$work/$example.$predictor" "$work/$example.synperf" ||
      fail "$example: $predictor says what synperf says"
  done
done

# Who wants no fallback is told of the first kernel without a price.
for predictor in linear neusight synperf_paper; do
  run 2 int4_weights "$predictor" --set predictor.fallback=none
  grep -q 'cannot price this: .*set fallback = "roofline"' "$work/stderr" || fail "$predictor: no remedy"
done
run 2 deepseek_v3_ep32 wave --set predictor.others=none
grep -q 'set others = "synperf"' "$work/stderr" || fail "wave: no remedy"

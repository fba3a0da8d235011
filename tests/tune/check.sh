#!/usr/bin/env bash
# Runs foretoken-tune as a user does: check.sh FORETOKEN_TUNE CASE
set -euo pipefail
tune=$1 case=$2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
recording=calibration/tune/recordings/h200.csv.gz

fail() {
  echo "$1" >&2
  exit 1
}
# expect_error "PATTERN" ARGUMENTS: exit status 2 and the pattern on standard error.
expect_error() {
  local pattern=$1 status=0
  shift
  "$tune" "$@" >"$work/out" 2>"$work/error" || status=$?
  [ "$status" -eq 2 ] || fail "$*: exit status $status, not 2: $(cat "$work/error")"
  grep -q -- "$pattern" "$work/error" || fail "$*: no '$pattern' in: $(cat "$work/error")"
}

case $case in
  example)
    FORETOKEN_TUNE=$tune bash examples/tune_kernels.sh "$work/charts" >"$work/out"
    grep -q "geometric mean" "$work/out" || fail "run says no mean"
    grep -q "^kernelband_v2 " "$work/out" || fail "replay has no line for kernelband_v2"
    [ "$(wc -l <"$work/charts/curves.csv")" -eq $((1 + 9 * 21)) ] || fail "curves.csv is not whole"
    [ "$(head -1 "$work/charts/kernels.csv")" = policy,kernel,best_of_space,speedup,speedup_low,speedup_high ]
    ;;
  repeats)
    for i in 1 2; do
      "$tune" replay $recording --kernels softmax,matmul,gelu --seeds 2 --budget 15 --json \
        --policies kernelband,kernelband_v2,beam --out "$work/$i" >"$work/$i.json"
    done
    cmp "$work/1.json" "$work/2.json"
    cmp "$work/1/trajectories.jsonl" "$work/2/trajectories.jsonl"
    ;;
  resumes)
    arguments=(--kernels softmax --policy kernelband --budget 20)
    "$tune" run "${arguments[@]}" --cache "$work/whole.csv" --steps "$work/whole.jsonl" >/dev/null
    # As a kill leaves it: nine evaluations and a piece of the tenth.
    head -c $(($(head -11 "$work/whole.csv" | wc -c) + 20)) "$work/whole.csv" >"$work/part.csv"
    "$tune" run "${arguments[@]}" --cache "$work/part.csv" --steps "$work/part.jsonl" >/dev/null
    cmp "$work/whole.jsonl" "$work/part.jsonl"
    cmp "$work/whole.csv" "$work/part.csv"
    ;;
  survives)
    # Every way in which a program that rewrites can fail; none ends the run.
    for command in "exit 3" "sleep 30" "true" "echo '{'" "kill -SEGV \$\$" "echo not-a-kernel"; do
      "$tune" run --kernels gelu --rewriter command --command "$command" --command-seconds 0.2 \
        --budget 2 >"$work/out" 2>"$work/error" || fail "'$command' ended the run: $(cat "$work/error")"
      grep -q "1.000x .* 2 failed" "$work/out" || fail "'$command': $(cat "$work/out")"
    done
    ;;
  exports)
    "$tune" export $recording --kernel rms_norm --to "$work/best.csv" >"$work/out"
    [ "$(grep -c '^rms_norm,' "$work/best.csv")" -eq 10 ] || fail "not ten launches: $(cat "$work/best.csv")"
    grep -q '^kernel,tokens,dim,dtype,time_us,warm_us,parameters$' "$work/best.csv" || fail "another header"
    grep -q '^rms_norm,16384,4096,bf16,,[0-9.]*,THREADS=' "$work/best.csv" || fail "no launch of the largest shape"
    "$tune" export $recording --kernel matmul --which all --to "$work/all.csv" >"$work/out"
    [ "$(grep -c '^gemm,' "$work/all.csv")" -eq 11520 ] || fail "not every tile"
    expect_error "did you mean 'rms_norm'" export $recording --kernel rms_nrom --to "$work/none.csv"
    ;;
  says_what_is_wrong)
    expect_error "did you mean 'softmax'" run --kernels sofmax
    expect_error "did you mean 'kernelband'" run --policy kernelbnd
    expect_error "did you mean 'lambda'" run --kernels gelu --set lamda=1
    expect_error "unknown evaluator 'gpu'" run --evaluator gpu
    expect_error "wants a recording" run --evaluator replay
    expect_error "go together" run --rewriter command
    expect_error "is not among --policies" replay $recording --policies random --against beam
    expect_error "missing.csv" replay "$work/missing.csv"
    printf 'problem,parameters,identity,status,compile_ms,kernels,us,detail\nsoftmax,VEC=1,1,ok\n' >"$work/bad.csv"
    expect_error "bad.csv:2: has 4 columns" replay "$work/bad.csv"
    mkdir "$work/suite"
    printf '//! summary = 3\n' >"$work/suite/mine.cu"
    expect_error "mine.cu:1" list --suite "$work/suite"
    expect_error "write I/N" record --shard 3 --to "$work/log.csv"
    ;;
  *) fail "unknown case $case" ;;
esac

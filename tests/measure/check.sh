#!/usr/bin/env bash
# Runs the programs of calibration/measure as a user does, on what they once recorded on a GPU:
# check.sh BUILD_FOLDER CASE [FORETOKEN_CALIBRATE]
set -euo pipefail
measure=$1/recorded-measure comm=$1/recorded-measure-comm case=$2 calibrate=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
data=calibration/datasets/h200 recordings=tests/measure/recordings.py
mkdir "$work/recorded" "$work/list" "$work/out"
export FORETOKEN_RECORDED=$work/recorded

fail() {
  echo "$1" >&2
  exit 1
}
needs_clang() {
  [ -x "$measure" ] || { echo "clang++ is not installed"; exit 77; }
}
# pick COUNT FAMILY...: rows of the data sets as recordings, and as --only lists them.
pick() {
  local count=$1 family
  shift
  for family in "$@"; do
    python3 $recordings pick "$(ls $data/"$family".csv*)" "$count" "$work/recorded/$family.csv" "$work/list/$family.csv"
  done
}
# expect STATUS "PATTERN" COMMAND...: the status, and the pattern in what it prints.
expect() {
  local wanted=$1 pattern=$2 status=0
  shift 2
  "$@" >"$work/said" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] || fail "$*: exit status $status, not $wanted: $(cat "$work/said")"
  grep -q -- "$pattern" "$work/said" || fail "$*: no '$pattern' in: $(cat "$work/said")"
}
# faulty "FAULT" STATUS "PATTERN" COMMAND...
faulty() {
  FORETOKEN_RECORDED_FAULT=$1 expect "${@:2}"
}
# steps ARGUMENTS: the executor of steps, on its recording.
steps() {
  PATH=$work/bin:$PATH FORETOKEN_RECORDED="" /usr/bin/env python3 tests/measure/replay_steps.py "$work/steps.csv" "$@"
}
make_steps() {
  python3 $recordings steps $data/steps.csv.gz $data/steps_kernels.csv.gz "$work/steps"
  mkdir "$work/bin"
  printf '#!/bin/sh\ntest -f "$7" && echo "$7" >"$9"\n' >"$work/bin/nvcc"
  chmod +x "$work/bin/nvcc"
}

case $case in
  replays_kernels)
    # Shapes out of every data set of our own kernels: the program finds each recorded figure again, in turn
    # cold, warm and hot, and what it tells of the launch.
    needs_clang
    families=(rms_norm fused_add_rms_norm qk_norm silu_and_mul rope kv_write embedding sampling topk_routing)
    pick 4 "${families[@]}"
    "$measure" "${families[@]}" --only "$work/list" --out "$work/out" --repeat 2 >"$work/said"
    for family in "${families[@]}"; do
      grep -q "^$family  *4 of 4 shapes, 0 failed" "$work/said" || fail "$(cat "$work/said")"
      python3 $recordings same "$work/recorded/$family.csv" "$work/out/$family.csv"
    done
    ;;
  replays_products)
    # cuBLAS' products by both interfaces, with their tiles, splits, memsets and sustained clocks.
    needs_clang
    pick 8 gemm_bf16 gemm_fp8
    "$measure" gemm_bf16 gemm_fp8 --only "$work/list" --out "$work/out" --repeat 2 >"$work/said"
    for family in gemm_bf16 gemm_fp8; do
      python3 $recordings same "$work/recorded/$family.csv" "$work/out/$family.csv"
    done
    grep -q sustained_us "$work/out/gemm_fp8.csv"
    # The same shapes from a file, as PyTorch calls it: times are the same, and no split is told.
    { echo m,n,k; grep -v '^#' "$work/list/gemm_bf16.csv" | sed 1d | cut -d, -f4-6; } >"$work/shapes.csv"
    mkdir "$work/again"
    "$measure" gemm_bf16 --shapes "$work/shapes.csv" --gemm-api gemmex --out "$work/again" --repeat 1 >"$work/said"
    grep -q "8 of 8 shapes, 0 failed" "$work/said" || fail "$(cat "$work/said")"
    grep -q "^# api: cublasGemmEx" "$work/again/gemm_bf16.csv" || fail "another interface"
    # Shapes that nobody recorded are those that the library refuses.
    echo 64,64,64 >>"$work/shapes.csv"
    "$measure" gemm_bf16 --shapes "$work/shapes.csv" --repeat 0 --out "$work/again" >"$work/said"
    grep -q "8 of 9 shapes, 1 failed, .*; first failure: cublasLt has no algorithm" "$work/said" ||
      fail "$(cat "$work/said")"
    ;;
  adapts)
    # A new GPU in ten minutes, as the README has it: few shapes, measured, correct its prices.
    needs_clang
    [ -n "$calibrate" ] || { echo "foretoken-calibrate is not built"; exit 77; }
    cp $data/silu_and_mul.csv "$work/recorded/"
    "$measure" silu_and_mul --few 12 --out "$work/out" --repeat 2 >"$work/said"
    grep -q "12 of 12 shapes, 0 failed" "$work/said" || fail "$(cat "$work/said")"
    "$calibrate" adapt --gpu h200-sxm "$work/out" --out "$work/adaptation.json" >"$work/said" || fail "$(cat "$work/said")"
    grep -q "silu_and_mul" "$work/adaptation.json" || fail "$(cat "$work/said")"
    # The same by a list that the networks chose.
    mkdir "$work/cases" "$work/chosen" "$work/measured"
    "$measure" silu_and_mul --cases --out "$work/cases" >/dev/null
    "$calibrate" choose --gpu h200-sxm "$work/cases" --count 9 --out "$work/chosen" >"$work/said" || fail "$(cat "$work/said")"
    "$measure" silu_and_mul --only "$work/chosen" --out "$work/measured" >"$work/said"
    grep -q "9 of 9 shapes, 0 failed" "$work/said" || fail "$(cat "$work/said")"
    ;;
  lists)
    needs_clang
    pick 4 rms_norm
    "$measure" --list >"$work/said"
    [ "$(wc -l <"$work/said")" -eq 11 ] || fail "not eleven families: $(cat "$work/said")"
    grep -q "^rms_norm  *1098$" "$work/said" || fail "$(cat "$work/said")"  # 61 batches x 18 widths
    "$measure" small --cases --out "$work/out" >"$work/said"
    [ "$(ls "$work/out" | wc -l)" -eq 9 ] || fail "not nine small families: $(ls "$work/out")"
    [ "$(grep -vc '^#' "$work/out/rms_norm.csv")" -eq 1099 ] || fail "not all shapes"
    # One plain launch each, for a profiler: no times, but what was launched.
    "$measure" rms_norm --only "$work/list" --once --out "$work/list" >"$work/said"
    grep -q "4 of 4 shapes" "$work/said" || fail "$(cat "$work/said")"
    grep -q '^rms_norm,foretoken_cuda,[0-9]*,[0-9]*,bf16,,,,,,,,0,0,0,"foretoken::measure::rms_norm_kernel' \
      "$work/list/rms_norm.csv" || fail "$(cat "$work/list/rms_norm.csv")"
    pick 4 rms_norm
    "$measure" rms_norm --only "$work/list" --limit 2 --settle 0 --seed 5 --out "$work/out" >"$work/said"
    grep -q " 2 of 4 shapes" "$work/said" || fail "$(cat "$work/said")"
    grep -q "^# seed: 5$" "$work/out/rms_norm.csv" || fail "no seed"
    "$measure" rms_norm --only "$work/list" --seconds 0 --out "$work/out" >"$work/said"
    grep -q " 0 of 4 shapes" "$work/said" || fail "$(cat "$work/said")"
    ;;
  says_what_is_wrong)
    needs_clang
    pick 1 rms_norm
    expect 2 "^usage: foretoken-measure" "$measure"
    expect 2 "unknown option --sede" "$measure" all --sede 3
    expect 2 "seconds needs a value" "$measure" all --seconds
    expect 2 '--seconds wants a number, not "soon"' "$measure" all --seconds soon
    expect 2 '--few wants a whole number, not "5x"' "$measure" all --few 5x
    expect 2 'no family "rsm_norm"; there are all, small, microbench, gemm_bf16' "$measure" rsm_norm
    expect 2 "gemmex or lt, not cutlass" "$measure" gemm_bf16 --gemm-api cutlass
    echo 4,5 >"$work/shapes.csv"
    expect 1 "shapes.csv:1: expected three positive numbers" "$measure" gemm_bf16 --shapes "$work/shapes.csv"
    expect 1 "none.csv: cannot be opened" "$measure" gemm_bf16 --shapes "$work/none.csv"
    expect 0 "rope  *not listed in " "$measure" rope --only "$work/list" --out "$work/out"
    echo tokens,dim >"$work/list/rope.csv"
    expect 1 "its columns must be kernel,kernel_source,tokens,heads" "$measure" rope --only "$work/list"
    printf 'kernel,kernel_source,tokens,heads,head_dim,dtype\nrope,x,1,1,1,bf16\n' >"$work/list/rope.csv"
    expect 1 "lists no shape of this family" "$measure" rope --only "$work/list"
    expect 1 "none/rms_norm.csv: cannot be created" "$measure" rms_norm --only "$work/list" --out "$work/none"
    ln -s /dev/full "$work/out/rms_norm.csv"
    expect 1 "is the disk full?" "$measure" rms_norm --only "$work/list" --out "$work/out"
    [ ! -c /dev/full ] || { status=0; "$measure" --list >/dev/full 2>&1 || status=$?; [ $status -eq 1 ] || fail "status $status"; }
    expect 1 "choosing the GPU: cudaErrorNoDevice" "$measure" rms_norm --device 3
    ;;
  survives)
    # A shape that fails is counted and the rest goes on; a broken GPU ends the program.
    needs_clang
    pick 4 rms_norm
    arguments=("$measure" rms_norm --only "$work/list" --out "$work/out")
    faulty "cudaGraphInstantiate 8 1" 0 "3 of 4 shapes, 1 failed, .*first failure: instantiating the graph: cudaErrorInvalidValue" "${arguments[@]}"
    [ "$(grep -c '^rms_norm,' "$work/out/rms_norm.csv")" -eq 7 ] || fail "$(cat "$work/out/rms_norm.csv")"
    faulty "cudaStreamSynchronize 9 700" 1 "after a failed shape: cudaErrorIllegalAddress" "${arguments[@]}"
    faulty "cudaMalloc 2 2" 1 "allocating the outputs: cudaErrorMemoryAllocation" "${arguments[@]}"
    faulty "cuFuncGetName 1 1" 0 "0 of 4 shapes, 8 failed, .*cuFuncGetName: not in this driver" "${arguments[@]}"
    # Counters of two SMs cannot be compared: no clock is told.
    faulty "sm 1 1" 0 "4 of 4 shapes, 0 failed" "${arguments[@]}"
    grep '^rms_norm,' "$work/out/rms_norm.csv" | cut -d, -f10 | sort -u >"$work/clocks"
    [ "$(cat "$work/clocks")" = "" ] || fail "clocks: $(cat "$work/clocks")"
    ;;
  microbench)
    # Bandwidths, latencies and rates of a GPU with round numbers.
    needs_clang
    pick 1 rms_norm
    "$measure" microbench --out "$work/out" >"$work/said"
    python3 $recordings microbench "$work/out/microbench.json" "$(sed -n 's/^# graph_head_us: //p' "$work/recorded/rms_norm.csv")"
    ;;
  replays_communication)
    # Groups of two and four GPUs: all operations, in graphs and call by call; the slowest rank counts.
    needs_clang
    python3 $recordings messages 3072 "$work/recorded/comm.csv" $data/comm_4gpus.csv $data/comm.csv
    "$comm" --out "$work/out/comm.csv" --max 3072 >"$work/said"
    grep -q "^4 GPUs, pass 1: foretoken_cuda two_shot all_reduce measured$" "$work/said" || fail "$(cat "$work/said")"
    python3 $recordings same "$work/recorded/comm.csv" "$work/out/comm.csv"
    NCCL_ALGO=Ring "$comm" --out "$work/out/few.csv" --max 3072 --gpus 2 --coarse --graph-only --nccl-only \
      --operations all_gather,send_recv >"$work/said"
    grep '^[a-z]' "$work/out/few.csv" | cut -d, -f1,2,4,6,9,10,16 >"$work/rows"
    printf '%s\n' operation,library,algorithm,launch,ranks,bytes,pass {all_gather,send_recv},nccl,Ring,graph,2,1024,0 \
      {all_gather,send_recv},nccl,Ring,graph,2,1024,1 | cmp - "$work/rows" || fail "$(cat "$work/rows")"
    grep -q "^# NCCL_ALGO: Ring$" "$work/out/few.csv" || fail "the algorithm is not told"
    ;;
  communication_faults)
    needs_clang
    python3 $recordings messages 1024 "$work/recorded/comm.csv" $data/comm.csv
    arguments=("$comm" --out "$work/out/comm.csv" --max 1024 --operations all_reduce)
    expect 2 "^usage: foretoken-measure-comm" "$comm"
    expect 2 "unknown option --gpu" "$comm" --gpu 3
    expect 2 '--max wants a whole number, not "1M"' "$comm" --out "$work/out/x.csv" --max 1M
    expect 2 'no operation "allreduce"; there are all_reduce, all_gather' "$comm" --out "$work/out/x.csv" --operations allreduce
    expect 1 "is at least 256" "${arguments[@]}" --min 100
    expect 1 "none/x.csv: cannot be created" "$comm" --out "$work/none/x.csv"
    faulty "no_gpu 1 1" 1 "communication needs two GPUs or more" "${arguments[@]}"
    faulty "ncclCommInitAll 1 2" 1 "making the communicator: unhandled system error (asked for by the test)" "${arguments[@]}"
    faulty "sums 1 1" 2 "rank [01]: auto all_reduce adds wrongly" "${arguments[@]}"
    faulty "all_reduce 9 2" 2 "rank [01]: .*unhandled system error" "${arguments[@]}"
    # A collective that never ends is given up; rows are kept.
    FORETOKEN_RECORDED_FAULT="hang 1 1" "${arguments[@]}" >"$work/said" 2>&1 &
    sleep 0.5
    kill -ALRM $!
    status=0
    wait $! || status=$?
    [ $status -eq 3 ] || fail "status $status: $(cat "$work/said")"
    grep -q "a collective does not end; rows are kept" "$work/said" || fail "$(cat "$work/said")"
    ;;
  steps)
    # Steps of two layouts, each in a process of its own: times, host times, kernels by role.
    make_steps
    steps --steps "$work/steps.jsonl" --tp 1,4 --out "$work/out/steps.csv" >"$work/said"
    grep -q "^llama-3.1-8b tp 4: [0-9]* of [0-9]* steps, logits within 0.022" "$work/said" || fail "$(cat "$work/said")"
    python3 $recordings same_steps "$work/steps.csv" "$work/out/steps.csv"
    # Steps that add up to a run: those without prompts stand for as many as there are.
    steps --steps "$work/steps.jsonl" --whole --sample 3 --out "$work/out/run.csv" >"$work/said"
    [ "$(grep '^[0-9]' "$work/out/run.csv" | awk -F, '{n += $NF} END {print n}')" -eq "$(wc -l <"$work/steps.jsonl")" ] ||
      fail "$(cat "$work/out/run.csv")"
    # What time cuts off, and what has no room.
    steps --steps "$work/steps.jsonl" --seconds 0.0001 --out "$work/out/late.csv" >"$work/said"
    grep -q "time is up after 0 of" "$work/said" || fail "$(cat "$work/said")"
    FORETOKEN_RECORDED_FAULT=memory steps --steps "$work/steps.jsonl" --out "$work/out/small.csv" >"$work/said"
    grep -q "steps need more KV cache than the [0-9]* tokens" "$work/said" || fail "$(cat "$work/said")"
    FORETOKEN_RECORDED_FAULT=trace steps --steps "$work/steps.jsonl" --out "$work/out/lost.csv" >"$work/said"
    grep -q "the trace has [0-9]* kernels instead of" "$work/said" || fail "$(cat "$work/said")"
    [ "$(grep -vc '^#' "$work/out/lost_kernels.csv")" -eq 1 ] || fail "kernels of a trace that is not whole"
    ;;
  step_mistakes)
    make_steps
    export FORETOKEN_RECORDED_FAULT=
    expect 1 "failed: the steps are wrong: logits are 0.500 of their standard deviation" \
      env FORETOKEN_RECORDED_FAULT=check bash -c "$(declare -f steps); work=$work; steps --steps $work/steps.jsonl --out $work/out/x.csv"
    expect 1 "no-such-model.toml does not exist: name a file of" steps --model no-such-model --steps "$work/steps.jsonl" --out "$work/out/x.csv"
    expect 1 "only dense models with plain attention" steps --model olmoe-1b-7b --steps "$work/steps.jsonl" --out "$work/out/x.csv"
    expect 1 "cannot be shared among 3 ranks" steps --tp 3 --steps "$work/steps.jsonl" --out "$work/out/x.csv"
    expect 1 "No such file or directory: '$work/none.jsonl'" steps --steps "$work/none.jsonl" --out "$work/out/x.csv"
    expect 2 "unrecognized arguments: --stesp" steps --stesp 3
    rm "$work/bin/nvcc"
    status=0
    PATH=/usr/bin:/bin FORETOKEN_RECORDED="" python3 tests/measure/replay_steps.py "$work/steps.csv" \
      --steps "$work/steps.jsonl" --out "$work/out/x.csv" >"$work/said" 2>&1 || status=$?
    [ $status -eq 1 ] || fail "status $status: $(cat "$work/said")"
    grep -q "nvcc is not on the PATH" "$work/said" || fail "$(cat "$work/said")"
    ;;
  parses)
    # Every CUDA source, as the GPU's compiler gets it: kernels are parsed and type-checked.
    command -v clang++ >/dev/null || { echo "clang++ is not installed"; exit 77; }
    gpu=tests/measure/gpu
    parse() {
      clang++ -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -fsyntax-only -std=c++20 \
        -Wno-unknown-cuda-version -Xclang -target-sdk-version=11.0 -D__CUDA_ARCH_FEAT_SM90_ALL -Werror -include $gpu/cuda_runtime.h -I$gpu \
        -Icalibration/measure -I. "$1"
    }
    export gpu
    export -f parse
    printf '%s\n' calibration/measure/*.cu >"$work/sources"
    [ "$(wc -l <"$work/sources")" -ge 10 ] || fail "not all sources: $(cat "$work/sources")"
    xargs -P 2 -I {} bash -c 'parse {}' <"$work/sources" 2>"$work/error" || fail "$(cat "$work/error")"
    sed 's/threadIdx\.x/threadIdx.w/' calibration/measure/stopwatch.cu >"$work/wrong.cu"
    ! parse "$work/wrong.cu" 2>"$work/error" || fail "it parses anything"
    grep -q "no member named 'w'" "$work/error" || fail "another mistake: $(cat "$work/error")"
    ;;
  scripts)
    # Python programs that need PyTorch or Triton: at least each is a program.
    python3 - calibration/measure/*.py <<'END'
import sys
for script in sys.argv[1:]:
    compile(open(script).read(), script, "exec")
END
    ;;
  *) fail "unknown case $case" ;;
esac

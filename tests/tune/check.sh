#!/usr/bin/env bash
# Runs foretoken-tune as a user does: check.sh FORETOKEN_TUNE CASE [FORETOKEN FORETOKEN_CALIBRATE]
set -euo pipefail
tune=$1 case=$2 foretoken=${3:-} calibrate=${4:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
recording=calibration/tune/recordings/h200.csv.gz

fail() {
  echo "$1" >&2
  exit 1
}
# expect_error "PATTERN" ARGUMENTS: exit status 2 and the pattern on standard error.
expect_error() {  # [STATUS, 2 unless said] PATTERN ARGUMENTS…
  local expected=2 status=0
  [ "$1" != 1 ] || { expected=$1 && shift; }
  local pattern=$1
  shift
  "$tune" "$@" >"$work/out" 2>"$work/error" || status=$?
  [ "$status" -eq "$expected" ] ||
    fail "$*: exit status $status, not $expected: $(cat "$work/error")"
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
  chat)
    # A language model rewrites: refusals are tried again, nonsense is a failure, tokens are counted; the
    # run is repeated from its conversations and judged from a recording, without endpoint and GPU.
    python3 tests/tune/chat_stub.py "$work/port" &
    trap 'kill $! 2>/dev/null || true; rm -rf "$work"' EXIT
    for i in $(seq 100); do [ -e "$work/port" ] || sleep 0.1; done
    gzip -dc $recording >"$work/log.csv"
    arguments=(--kernels gelu --evaluator replay --log "$work/log.csv" --policy greedy --rewriter chat --model stub
      --chat "$work/chat.jsonl" --budget 4 --json)
    SECRET=secret "$tune" run "${arguments[@]}" --endpoint "http://127.0.0.1:$(cat "$work/port")/v1" \
      --key-variable SECRET --retry-seconds 0.01 --token-prices 2,10 --steps "$work/first.jsonl" >"$work/first.json"
    python3 - "$work" <<'EOF'
import json, sys
work = sys.argv[1]
usage = json.load(open(f"{work}/first.json"))["chat"]
assert usage == {"requests": 4, "failures": 1, "from_file": 0, "attempts": 6, "prompt_tokens": 3000,
                 "reply_tokens": 600, "cost_usd": 0.012}, usage
steps = [json.loads(line) for line in open(f"{work}/first.jsonl")]
assert [step["status"] for step in steps] == ["malformed"] * 4, steps
# The rewritten source is judged: half as fast as a kernel of the recording.
lines = open(f"{work}/log.csv").read().splitlines()
columns = next(line for line in lines if not line.startswith("#")).split(",")
line = next(line for line in lines if line.startswith("gelu,") and ",ok," in line).split(",")
row = dict(zip(columns, line))
row.update(parameters="", identity=steps[0]["child"], us=" ".join(str(2 * float(us)) for us in row["us"].split()))
with open(f"{work}/log.csv", "a") as file:
    file.write(",".join(row[column] for column in columns) + "\n")
EOF
    kill $!
    for i in 1 2; do
      "$tune" run "${arguments[@]}" --steps "$work/again$i.jsonl" >"$work/again$i.json"
    done
    cmp "$work/again1.jsonl" "$work/again2.jsonl" && cmp "$work/again1.json" "$work/again2.json"
    grep -q '"status":"ok"\|"status": "ok"' "$work/again1.jsonl" || fail "not judged: $(cat "$work/again1.jsonl")"
    grep -q '"from_file": 3' "$work/again1.json" || fail "not from the file: $(cat "$work/again1.json")"
    # A line that a killed run left half is asked again; a damaged one is told.
    cp "$work/chat.jsonl" "$work/whole.jsonl"
    head -c -20 "$work/whole.jsonl" >"$work/chat.jsonl"
    "$tune" run "${arguments[@]}" >"$work/cut.json"
    grep -q '"from_file": 2' "$work/cut.json" || fail "the half line: $(cat "$work/cut.json")"
    sed '1s/"reply"/"rply"/' "$work/whole.jsonl" >"$work/chat.jsonl"
    expect_error "chat.jsonl:1" run "${arguments[@]}"
    expect_error "chat needs --model" run --rewriter chat --kernels gelu
    expect_error "not an http(s) URL" run --rewriter chat --model m --endpoint ftp://x --kernels gelu
    ;;
  counts)
    # Both kinds of profile against each other on counters of an H100; a search by counters stays among them.
    counters=calibration/tune/recordings/h100_counters.csv.gz
    "$tune" prior $recording --counters $counters >"$work/out"
    grep -q "^mean  *5367 " "$work/out" || fail "not all attempts: $(cat "$work/out")"
    grep -q "^counters less costs: [+-]0.0[0-9]* \[" "$work/out" || fail "no difference: $(cat "$work/out")"
    "$tune" prior $recording --counters $counters --kernels rope,gelu,softmax --json | grep -q '"counters": {' ||
      fail "no JSON"
    expect_error "2 of the recording's kernels" prior $recording --counters $counters --kernels rope,gelu
    "$tune" run --evaluator replay --log $recording --counters $counters --kernels attention --budget 5 >"$work/out"
    grep -q "^attention .* evaluations" "$work/out" || fail "no search by counters: $(cat "$work/out")"
    expect_error "a simulated GPU has no counters" run --kernels gelu --counters $counters
    printf 'problem,parameters,identity,counters\nrope,A=1,x,1 2\n' >"$work/short.csv"
    expect_error "short.csv:2: counters must be 9 numbers" prior $recording --counters "$work/short.csv"
    ;;
  traffic)
    # A run's own launches decide what counts, on its own shapes where the evaluator can.
    for i in 1 2 3; do echo '{"duration_s":0.005,"stage":0,"prefill":[],"decode":[[1024,64]]}'; done >"$work/steps.jsonl"
    arguments=(run --policy greedy --budget 8 --traffic "$work/steps.jsonl" --traffic-model llama-3.1-8b)
    "$tune" "${arguments[@]}" --kernels add_rms_norm >"$work/out"
    grep -q "stands for 192 launches, sizes 1.00x off$" "$work/out" || fail "not its own shapes: $(cat "$work/out")"
    grep -q "[0-9.]* us a step, untouched [0-9.]*; the run's mean step 5000 us" "$work/out" ||
      fail "no time of a step: $(cat "$work/out")"
    grep -q "GPU time, and with it cost, [0-9.]* % less" "$work/out" || fail "no cost: $(cat "$work/out")"
    "$tune" "${arguments[@]}" --kernels add_rms_norm --objective tpot >"$work/out"
    grep -q "us of TPOT, untouched [0-9.]*; the run's TPOT 5000 us, [0-9.]* % less" "$work/out" ||
      fail "no TPOT: $(cat "$work/out")"
    expect_error "requires --traffic" run --kernels rope --objective tpot
    "$tune" "${arguments[@]}" --evaluator replay --log $recording --json >"$work/out"
    grep -q '"untouched_us_a_step"' "$work/out" || fail "no traffic in: $(cat "$work/out")"
    ! grep -q '"kernel": "softmax"' "$work/out" || fail "softmax is not launched"
    expect_error "launches none of these kernels" "${arguments[@]}" --kernels softmax
    expect_error "requires --traffic-model" run --traffic "$work/steps.jsonl" --kernels rope
    echo '{"decode":[]}' >"$work/steps.jsonl"
    expect_error "steps.jsonl:1: has no list 'prefill'" "${arguments[@]}" --kernels rope
    ;;
  parses)
    # The suite's kernels as NVRTC gets them, and what runs beside them, parsed and type-checked by clang: where
    # no GPU is, a slip in one would show on somebody else's.
    command -v clang++ >/dev/null || { echo "clang++ is not installed"; exit 77; }
    parse() {
      clang++ -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -fsyntax-only -std=c++17 \
        -Wno-unknown-cuda-version -Werror -include tests/tune/cuda_builtins.cuh "$1"
    }
    "$tune" run --policy random --budget 3 --best "$work/some" >/dev/null
    "$tune" run --policy greedy --budget 15 --best "$work/fast" >/dev/null
    count=0
    for source in "$work"/some/*.cu "$work"/fast/*.cu calibration/tune/device/harness.cu; do
      parse "$source" 2>"$work/error" || fail "$source: $(cat "$work/error")"
      count=$((count + 1))
    done
    [ $count -eq $((2 * $(ls calibration/tune/suite/*.cu | wc -l) + 1)) ] || fail "$count sources, not all"
    sed 's/threadIdx/threadIndex/' "$work/some/softmax.cu" >"$work/wrong.cu"
    ! parse "$work/wrong.cu" 2>"$work/error" || fail "it parses anything"
    grep -q "undeclared identifier 'threadIndex'" "$work/error" || fail "another mistake: $(cat "$work/error")"
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
  stops)
    # At the ceiling or the end of its budget, and it says which and how far.
    arguments=(run --evaluator replay --log $recording --policy greedy --budget 30)
    "$tune" "${arguments[@]}" --kernels rope,matmul,softmax --stop-at-ceiling >"$work/out"
    grep -q "at the ceiling of rope (median gap .*); stopped after [0-9]* of 30" "$work/out" ||
      fail "rope: $(cat "$work/out")"
    grep -q "x below the ceiling of gemm_16bit (median gap 0.[0-9]*); budget used up" "$work/out" ||
      fail "matmul: $(cat "$work/out")"
    grep -q "no ceiling: not a serving kernel; [0-9]* % of the roof; budget" "$work/out" ||
      fail "softmax: $(cat "$work/out")"
    # The same steps as without, as far as they go; it never stops by itself.
    "$tune" "${arguments[@]}" --kernels rope --stop-at-ceiling --steps "$work/short.jsonl" >/dev/null
    "$tune" "${arguments[@]}" --kernels rope --steps "$work/long.jsonl" >/dev/null
    [ "$(wc -l <"$work/long.jsonl")" -eq 30 ] || fail "it stopped by itself"
    lines=$(wc -l <"$work/short.jsonl")
    [ "$lines" -lt 30 ] || fail "it did not stop"
    head -n "$lines" "$work/long.jsonl" | cmp - "$work/short.jsonl"
    "$tune" run --kernels rms_norm --stop-at-ceiling --json >"$work/out"
    grep -q '"ended": "\(ceiling\|budget\)"' "$work/out" || fail "no end in: $(cat "$work/out")"
    ;;
  ranks)
    "$tune" rank --evaluator replay --log $recording >"$work/out"
    [ "$(sed -n 2p "$work/out" | cut -d' ' -f1)" = attention ] || fail "first is: $(cat "$work/out")"
    grep -q "^softmax .* ?  no ceiling: not a serving kernel" "$work/out" || fail "softmax"
    grep -q "^at the ceiling everywhere: [0-9.]* % less time" "$work/out" || fail "no sum"
    # In a step that is all RoPE, RoPE is what counts.
    printf '{"kernels": [{"kernel": "rope", "time_us": 9}, {"kernel": "gemm", "time_us": 1}]}' \
      >"$work/step.json"
    "$tune" rank --evaluator replay --log $recording --step "$work/step.json" >"$work/out"
    grep -q "^rope  *90.0 %" "$work/out" || fail "rope: $(cat "$work/out")"
    [ "$(sed -n 2p "$work/out" | cut -d' ' -f1)" = rope ] || fail "first is: $(cat "$work/out")"
    # The best of each space is nearer.
    "$tune" rank --evaluator replay --log $recording --best --kernels rope >"$work/out"
    grep -q "^rope .* at the ceiling" "$work/out" || fail "best: $(cat "$work/out")"
    "$tune" rank --kernels rope,matmul --json | grep -q '"saves"' || fail "simulated"
    echo '{"kernels": 3}' >"$work/step.json"
    expect_error "step.json: has no kernels" rank --step "$work/step.json"
    ;;
  other_shapes)
    printf 'rope = [[16, 8], [32, 8]]\n' >"$work/shapes.toml"
    "$tune" run --kernels rope --shapes "$work/shapes.toml" --cache "$work/cache.csv" --budget 1 >/dev/null
    [ "$(sed -n 4p "$work/cache.csv" | cut -d, -f7 | wc -w)" -eq 2 ] || fail "not two shapes"
    printf 'rpoe = [[16, 8]]\nsoftmax = [[16]]\n' >"$work/shapes.toml"
    expect_error "shapes.toml:1.*rpoe" run --shapes "$work/shapes.toml"
    grep -q "shapes.toml:2:.*a shape has 2 sizes" "$work/error" || fail "$(cat "$work/error")"
    expect_error "of rope are of other shapes: name them with --shapes" replay $recording --kernels rope \
      --shapes <(printf 'rope = [[16, 8]]')
    expect_error "h200_held_out.csv.gz: its times of rope are of other shapes" \
      export calibration/tune/recordings/h200_held_out.csv.gz --kernel rope --to "$work/none.csv"
    expect_error "of rope are of other shapes" run --kernels rope --cache "$work/cache.csv"
    ;;
  pools)
    "$tune" export $recording --kernel matmul --as pool --to "$work/pool.json" >"$work/out"
    grep -q "[0-9]* tiles of 1152 implementations on 10 shapes" "$work/out" || fail "$(cat "$work/out")"
    # A shape of the pool: the time of its best tile, as the recording has it.
    best=$(zcat $recording | awk -F, '$1 == "matmul" && $4 == "ok" {split($7, us, " "); if (!b || us[10] < b) b = us[10]} END {printf "%.0f", b}')
    "$foretoken" select --gpu h200-sxm --gemm 4096x4096x1024 --pool "$work/pool.json" >"$work/out"
    grep -q " $best us .*" "$work/out" || fail "not $best us: $(cat "$work/out")"
    grep -q "origin = measured" "$work/out" || fail "$(cat "$work/out")"
    "$foretoken" select --gpu h200-sxm --gemm 4096x4096x1000 --pool "$work/pool.json" | grep -q "origin = adapted"
    "$tune" export $recording --kernel matmul --as pool --margin 0 --to "$work/few.json" >/dev/null
    [ "$(grep -c parameters "$work/few.json")" -lt "$(grep -c parameters "$work/pool.json")" ] || fail "margin 0 keeps as many"
    # The same as a table for those who fit constants.
    "$tune" export $recording --kernel matmul --as tiles --to "$work/tiles/t.csv" 2>/dev/null && fail "wrote into no folder"
    mkdir "$work/tiles"
    "$tune" export $recording --kernel matmul --as tiles --to "$work/tiles/t.csv" >/dev/null
    "$calibrate" evaluate --tiles --own "$work/tiles" >"$work/out"
    grep -q "10 shapes, 2880 times of tiles; bf16 on h200-sxm" "$work/out" || fail "$(head -3 "$work/out")"
    expect_error "has no GEMM tile" export $recording --kernel rms_norm --as pool --to "$work/none.json"
    status=0
    "$foretoken" select --gpu b200-sxm --gemm 64x64x64 --pool "$work/pool.json" 2>"$work/error" || status=$?
    [ $status -eq 2 ] || fail "tiles of another GPU were taken"
    grep -q "has bf16 tiles measured on h200-sxm, not bf16 on b200-sxm" "$work/error" || fail "$(cat "$work/error")"
    ;;
  serving)
    # Tuned, handed on, served: every way makes tokens come faster than with the untouched kernels.
    FORETOKEN_TUNE=$tune FORETOKEN=$foretoken FORETOKEN_CALIBRATE=$calibrate \
      bash examples/tuned_kernels.sh "$work/files" >"$work/out"
    tpots=($(sed -n 's/^ *\(untouched\|tuned\|all\): TPOT \([0-9.]*\) ms/\2/p' "$work/out"))
    [ ${#tpots[@]} -eq 6 ] || fail "not six runs: $(cat "$work/out")"
    for i in 0 2 4; do
      awk -v before="${tpots[$i]}" -v after="${tpots[$((i + 1))]}" \
        'BEGIN {exit !(after > 0 && after < 0.95 * before)}' || fail "no faster: $(cat "$work/out")"
    done
    grep -q "rms_norm  *10  *5  50.0 %" "$work/out" || fail "no gaps: $(cat "$work/out")"
    ;;
  says_what_is_wrong)
    expect_error "did you mean 'softmax'" run --kernels sofmax
    expect_error "did you mean 'kernelband'" run --policy kernelbnd
    expect_error "did you mean 'lambda'" run --kernels gelu --set lamda=1
    expect_error "unknown evaluator 'gpu'" run --evaluator gpu
    expect_error "needs a recording" run --evaluator replay
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
  outputs)
    # A full disk, a file or the terminal, ends with a status.
    for arguments in list "--help" "run --kernels gelu --budget 2" \
      "replay $recording --kernels softmax --seeds 1 --budget 3 --policies random"; do
      status=0
      "$tune" $arguments >/dev/full 2>"$work/error" || status=$?
      [ "$status" -eq 1 ] || fail "$arguments > /dev/full: exit status $status, not 1"
      grep -q "No space left on device" "$work/error" || fail "$arguments: $(cat "$work/error")"
    done
    expect_error 1 "/dev/full" export $recording --kernel rms_norm --to /dev/full
    expect_error 1 "/dev/full" run --kernels gelu --budget 2 --steps /dev/full
    expect_error "/dev/full" run --kernels gelu --budget 2 --cache /dev/full
    # The recording is not written over by what is made of it.
    cp $recording "$work/recording.csv.gz"
    expect_error "would be overwritten" export "$work/recording.csv.gz" --kernel rms_norm \
      --to "$work/recording.csv.gz"
    cmp $recording "$work/recording.csv.gz"
    # What a file holds does not steer the terminal.
    printf 'problem,parameters,identity,status,compile_ms,kernels,us,detail\nsoftmax,\033]0;x\007,1,o\033k,1,1,1,\n' \
      >"$work/escapes.csv"
    expect_error "escapes.csv:2" replay "$work/escapes.csv"
    ! grep -q $'\033' "$work/error" || fail "an escape reached the terminal"
    ;;
  *) fail "unknown case $case" ;;
esac

#!/usr/bin/env bash
# What tuned kernels do to serving, without a GPU: kernels are tuned against recorded rewards of an
# H200, exported, and Llama-3.1-8B and OLMoE are served with the untouched and with the tuned ones.
# Takes some seconds. Run from any folder; files stay in the folder given as argument.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tune=${FORETOKEN_TUNE:-build/release/foretoken-tune}
calibrate=${FORETOKEN_CALIBRATE:-build/release/foretoken-calibrate}
foretoken=${FORETOKEN:-build/release/foretoken}
recording=calibration/tune/recordings/h200.csv.gz
out=${1:-$(mktemp -d)}
case $out in /*) ;; *) out=$here/$out ;; esac
mkdir -p "$out/untouched" "$out/tuned"

# Mean TPOT in ms of a scenario with the given settings.
tpot() { "$foretoken" simulate "$@" | awk '$1 == "TPOT" && $2 == "ms" {print $3}'; }

echo "1. Norms, RoPE and SwiGLU: tune, hold against the ceiling, adapt prices, serve"
for kernel in rms_norm add_rms_norm rope swiglu; do
  # Twenty evaluations; --cache keeps what was judged, as on a GPU.
  "$tune" run --kernels $kernel --policy kernelband_fastest --evaluator replay --log $recording \
    --cache "$out/$kernel.csv" >>"$out/run.txt"
  for which in untouched best; do
    folder=$([ $which = best ] && echo tuned || echo untouched)
    "$tune" export "$out/$kernel.csv" --kernel $kernel --which $which --to "$out/$folder/$kernel.csv" >/dev/null
  done
done
for folder in untouched tuned; do
  "$foretoken" diagnose "$out/$folder" | sed -n '4,9s/^ /   /p'
  "$calibrate" adapt --gpu h200-sxm "$out/$folder" --out "$out/$folder.json" >/dev/null
  echo "   $folder: TPOT $(tpot examples/quickstart.toml --set "predictor.adaptations=[\"$out/$folder.json\"]") ms"
done

echo "2. Matrix products: every tile of our kernel becomes a pool to choose from"
for which in untouched all; do
  "$tune" export $recording --kernel matmul --as pool --which $which --to "$out/matmul_$which.json" >/dev/null
  "$foretoken" select --gpu h200-sxm --gemm 64x6144x4096 --pool "$out/matmul_$which.json" | sed -n '3p;5p' | sed 's/^ */   /'
  echo "   $which: TPOT $(tpot examples/quickstart.toml --set predictor.name=tritonblas --set "predictor.pool=\"$out/matmul_$which.json\"") ms"
done
echo "   tritonBLAS's own tiles: TPOT $(tpot examples/quickstart.toml --set predictor.name=tritonblas) ms"

echo "3. Experts: tiles of our kernel become configurations to dispatch"
for which in untouched all; do
  "$tune" export calibration/tune/recordings/h200_experts.csv.gz --kernel mixture_of_experts --as tiles --which $which --to "$out/experts_$which.csv" >/dev/null
  "$calibrate" fit wave "$out/experts_$which.csv" --out "$out/experts_$which.json" >/dev/null
  "$foretoken" dispatch --model olmoe-1b-7b --gpu h200-sxm --dtype bf16 --tokens 64 --balancedness 0.8 \
    --profile "$out/experts_$which.json" | grep routing_aware | sed 's/^ */   /'
  echo "   $which: TPOT $(tpot examples/moe_dispatch.toml --set model.dtype=bf16 --set "predictor.profiles=[\"$out/experts_$which.json\"]") ms"
done
echo "   Triton's tiles: TPOT $(tpot examples/moe_dispatch.toml --set model.dtype=bf16) ms"

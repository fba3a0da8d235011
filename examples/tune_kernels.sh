#!/usr/bin/env bash
# Tunes kernels without a GPU: first against a simulated H200, then against recorded times of
# 14,550 kernels on a real one, where policies are compared at equal evaluations. Run from any folder; with a
# folder as its argument it leaves CSV and charts there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tune=${FORETOKEN_TUNE:-build/release/foretoken-tune}

"$tune" run --kernels softmax,matmul --policy kernelband --budget 20
"$tune" replay calibration/tune/recordings/h200.csv.gz --seeds 3 --budget 20 --against kernelband_fastest \
  --policies kernelband,kernelband_v2,kernelband_fastest,random,greedy,epsilon_greedy,flat_ucb,beam,best_of_n \
  ${1:+--out "$1"}

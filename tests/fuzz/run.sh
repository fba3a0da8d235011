#!/usr/bin/env bash
# Fuzzes every loader for the given time each (60 seconds unless told), with clang's libFuzzer under
# AddressSanitizer and UndefinedBehaviorSanitizer. A finding is written to tests/fuzz/corpus, where
# the ordinary tests replay it from then on.
#
#   tests/fuzz/run.sh [SECONDS [TARGET…]]      targets: the fuzz_TARGET.cpp beside this script
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-60}
shift || true
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for source in tests/fuzz/fuzz_*.cpp; do
    source=${source##*/fuzz_}
    targets+=("${source%.cpp}")
  done
fi

bash .ci/install.sh
# Debian's default clang, 14, does not take the ranges of GCC 12's library.
if ! command -v clang++-16 >/dev/null; then
  apt-get install -y --no-install-recommends clang-16 libclang-rt-16-dev
fi
cmake --preset fuzz >/dev/null
cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}"

for target in "${targets[@]}"; do
  found=tests/fuzz/corpus/$target
  grown=build/fuzz/corpus/$target  # what the fuzzer learns on its way is not worth keeping
  mkdir -p "$grown"
  seeds=("$found")
  case $target in
    scenario) seeds+=(examples examples/errors sim/scenario/presets examples/servers) ;;
    spec) seeds+=(hardware/specs/{gpus,clusters,fabrics} models/specs examples/clusters) ;;
    deployment) seeds+=(examples/deployments) ;;
  esac
  echo "== fuzz_$target: $seconds s"
  build/fuzz/tests/fuzz/fuzz_"$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 \
    -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 -artifact_prefix="$found/" \
    "$grown" "${seeds[@]}"
done

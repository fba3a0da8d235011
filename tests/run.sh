#!/usr/bin/env bash
# Installs, builds everything (release) and runs the tests. The exit status is ctest's.
#
#   tests/run.sh                all tests
#   tests/run.sh --fast         without those labelled "slow"
#   tests/run.sh -R 'unit.base' any further argument goes to ctest
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

arguments=()
if [ "${1:-}" = --fast ]; then
  arguments+=(-LE slow)
  shift
fi
[ -t 1 ] && arguments+=(--progress)

bash .ci/install.sh --calibration
cmake --preset release -DFORETOKEN_TESTS=ON -DFORETOKEN_BENCHMARKS=ON >/dev/null
cmake --build --preset release
exec ctest --preset release --parallel "$(nproc)" --no-label-summary "${arguments[@]}" "$@"

#!/usr/bin/env bash
# Accepts what the program says today as what it should say: rewrites the golden files, the expected
# error messages and the outputs in README files, then shows what changed. Read the change before you
# commit it, and name it in CHANGELOG.md under "Changed behaviour".
#
#   tests/bless.sh            everything
#   tests/bless.sh NAME…      only these examples or error cases; README is one too, KEYS the page of a
#                             scenario's keys; not part of "everything": ACCURACY, the page of figures, SERVERS, that
#                             of whole servers (both need FORETOKEN_DATA), and TUNE, that of tuning
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash .ci/install.sh
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release --target foretoken
foretoken=$PWD/build/release/foretoken

wanted() {  # NAME, one of the arguments or no arguments at all
  local name=$1 asked
  shift
  [ $# -eq 0 ] && return 0
  for asked in "$@"; do [ "$asked" = "$name" ] && return 0; done
  return 1
}

shopt -s nullglob
for file in examples/*.toml examples/*.cmd; do
  name=$(basename "${file%.*}")
  wanted "$name" "$@" || continue
  case $file in *.toml) kind=report ;; *) kind=output ;; esac
  bash tests/golden/check.sh "$foretoken" "$kind" "$name" --bless
done
cases=(examples/errors/*.toml examples/errors/*.cmd)
for name in $(printf '%s\n' "${cases[@]}" | sed 's|.*/||; s|\.[a-z]*$||' | sort -u); do
  wanted "$name" "$@" || continue
  bash tests/errors/check.sh "$foretoken" "$name" --bless
done
if wanted contention "$@"; then
  cmake --build --preset release --target foretoken_contention
  bash tests/golden/check.sh "$PWD/build/release/tests/golden/foretoken_contention" program contention \
    --bless
fi
if wanted README "$@"; then
  for page in README.md sim/serving/README.md; do
    bash tests/golden/check_readme.sh "$page" "$foretoken" --bless
  done
fi
if wanted KEYS "$@"; then
  "$foretoken" keys --markdown >sim/scenario/KEYS.md
fi
if [ $# -gt 0 ] && wanted ACCURACY "$@"; then
  cmake --build --preset release --target foretoken-calibrate foretoken-tune
  bash tests/golden/check_readme.sh calibration/ACCURACY.md "$foretoken" --bless
fi
if [ $# -gt 0 ] && wanted TUNE "$@"; then
  cmake --build --preset release --target foretoken-tune
  bash tests/golden/check_readme.sh calibration/tune/README.md "$foretoken" --bless
fi
if [ $# -gt 0 ] && wanted SERVERS "$@"; then
  bash tests/golden/check_scoreboard.sh "$foretoken" --bless
fi
git --no-pager diff --stat -- tests/golden examples/errors '*README.md' calibration/ACCURACY.md calibration/SERVERS.md sim/scenario/KEYS.md

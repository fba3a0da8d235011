#!/usr/bin/env bash
# Runs one example and holds what it prints against its golden file, byte for byte.
#
#   check.sh FORETOKEN report NAME            simulate examples/NAME.toml --json  =  tests/golden/NAME.json,
#                                             and the resolved scenario again: identical files, and a page
#                                             (where the program was built with pages) that tells the same
#   check.sh FORETOKEN output NAME            the arguments in examples/NAME.cmd  =  tests/golden/NAME.txt
#                                             (what it writes goes below $work)
#   check.sh PROGRAM program NAME             another program without arguments  =  tests/golden/NAME.txt
#   check.sh FORETOKEN report|output|program NAME --bless   writes the golden file instead
set -euo pipefail
foretoken=$1 kind=$2 name=$3 bless=${4:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compare() {  # ACTUAL GOLDEN
  if [ "$bless" = --bless ]; then
    cp "$1" "$2"
  elif [ ! -f "$2" ]; then
    echo "$2 is missing; write it with: bash tests/bless.sh $name" >&2
    exit 1
  else
    diff -u "$2" "$1" >&2 || {
      echo "examples/$name gives another result than $2." >&2
      echo "If that is meant: bash tests/bless.sh $name, and say so in CHANGELOG.md." >&2
      exit 1
    }
  fi
}

case $kind in
  report)
    # A resolved scenario names its files absolutely; the golden file must not know this machine.
    "$foretoken" simulate "examples/$name.toml" --json --out "$work/first" | sed "s|$(pwd -P)/||g" >"$work/actual"
    compare "$work/actual" "tests/golden/$name.json"
    [ "$bless" = --bless ] && exit 0
    again=("$foretoken" simulate "$work/first/scenario.toml" --quiet --out "$work/second")
    if "${again[@]}" --report "$work/page.html" 2>"$work/errors"; then
      python3 tests/golden/check_page.py "$work/page.html" "$work/actual" "$name"
    elif grep -q 'built without' "$work/errors"; then
      "${again[@]}"
    else
      cat "$work/errors" >&2
      exit 1
    fi
    diff -r "$work/first" "$work/second" >&2 || {
      echo "examples/$name.toml: running the resolved scenario again gives other bytes." >&2
      exit 1
    }
    ;;
  output)
    eval "set -- $(cat "examples/$name.cmd")"
    # Files that a command writes belong below $work, whose name differs from run to run.
    "$foretoken" "$@" | sed "s|$work/||g" >"$work/actual"
    compare "$work/actual" "tests/golden/$name.txt"
    ;;
  program)
    "$foretoken" >"$work/actual"
    compare "$work/actual" "tests/golden/$name.txt"
    ;;
  *)
    echo "check.sh: unknown kind '$kind' (report, output, program)" >&2
    exit 2
    ;;
esac

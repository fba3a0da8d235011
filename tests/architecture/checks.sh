#!/usr/bin/env bash
# .ci/check refuses what CONTRIBUTING forbids: tried in a small repository of its own.
set -uo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" && git init --quiet . && mkdir .ci || exit 1
cp "$source_dir/.ci/check" .ci/ && cp "$source_dir/.clang-format" . || exit 1

failures=0
# expect STATUS WHAT ARGUMENT...: .ci/check ends with that status.
expect() {
  local wanted=$1 what=$2 status=0
  shift 2
  bash .ci/check "$@" >out.txt 2>&1 || status=$?
  [ "$status" -eq 77 ] || [ "$status" -eq "$wanted" ] && return
  echo "FAILED: $what: status $status instead of $wanted"
  cat out.txt
  failures=1
}

printf '// Twice two.\nint four() { return 4; }\n' >good.cpp
git add good.cpp
expect 0 "a tidy file" format
expect 0 "a tidy file" spelling
printf '// Twice two.\nint   five( ) {return 5;}\n' >bad.cpp
expect 0 "a file that is not staged" --staged format
git add bad.cpp
expect 1 "a file laid out otherwise" format
expect 1 "a staged file laid out otherwise" --staged format
printf '// What was re%s.\nint six() { return 6; }\n' cieved >bad.cpp
git add bad.cpp
expect 0 "misspelt, but well laid out" format
expect 1 "a misspelt word" spelling

printf 'base: round half to even\n\nBecause sums drifted.\n' >message
expect 0 "a subject as it should be" subject message
printf 'rounding\n' >message
expect 1 "a subject without a room" subject message
printf 'base: %066d\n' 1 >message
expect 1 "a subject of more than 65 characters" subject message
exit "$failures"

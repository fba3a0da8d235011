#!/usr/bin/env bash
# Runs one bad scenario and holds its message against the expected one, byte for byte. A mistake of
# the user's ends with status 2, says nothing on standard output and everything on standard error.
#
#   check.sh FORETOKEN NAME           examples/errors/NAME.toml (or the arguments in NAME.cmd) = NAME.txt
#   check.sh FORETOKEN NAME --bless   writes NAME.txt instead
set -euo pipefail
foretoken=$1 name=$2 bless=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expected=examples/errors/$name.txt

if [ -f "examples/errors/$name.cmd" ]; then
  eval "set -- $(cat "examples/errors/$name.cmd")"
else
  set -- simulate "examples/errors/$name.toml"
fi
status=0
"$foretoken" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null || status=$?

fail() {
  echo "foretoken $*" >&2
  exit 1
}
[ "$status" -eq 2 ] || { cat "$work/stderr" >&2; fail "$* ended with status $status, not 2"; }
[ ! -s "$work/stdout" ] || fail "$* wrote to standard output"
if [ "$bless" = --bless ]; then
  cp "$work/stderr" "$expected"
elif [ ! -f "$expected" ]; then
  fail "$*: $expected is missing; write it with: bash tests/bless.sh $name"
else
  diff -u "$expected" "$work/stderr" >&2 || fail "$* says something else; bash tests/bless.sh $name accepts it"
fi

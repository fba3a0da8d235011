#!/usr/bin/env bash
# out_of_tree.sh BUILD SOURCE: installs BUILD into a folder of its own and uses it as another
# project would: find_package, headers, libraries, program, man page, completions.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

cmake --install "$build" --prefix "$prefix" >/dev/null

fail() { echo "out_of_tree: $1" >&2; exit 1; }
expect() {  # expect WHAT PATTERN TEXT
  grep -qE -- "$2" <<<"$3" || fail "$1: nothing like '$2' in:
$3"
}

for example in custom_predictor custom_scheduler; do
  cmake -G Ninja -S "$source/examples/$example" -B "$work/$example" \
        -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache || true)" >"$work/log" 2>&1 ||
    fail "$example does not configure: $(cat "$work/log")"
  cmake --build "$work/$example" >"$work/log" 2>&1 ||
    fail "$example does not build: $(cat "$work/log")"
done

out=$("$work/custom_predictor/custom_predictor" "$source/examples/quickstart.toml")
expect "its predictor prices a kernel" '"origin":"analytic"' "$out"
expect "its predictor prices a simulation" 'TPOT \{"mean":' "$out"
out=$("$work/custom_predictor/custom_predictor" "$source/examples/disaggregated.toml")
expect "what crosses a network finds SimGrid's module" 'TPOT \{"mean":' "$out"

out=$("$work/custom_scheduler/custom_scheduler" "$source/examples/quickstart.toml")
first=$(grep '^vllm_v1' <<<"$out" | sed 's/^[^{]*//')
second=$(grep '^last_come_first' <<<"$out" | sed 's/^[^{]*//')
[ -n "$first" ] && [ -n "$second" ] || fail "one of the schedulers gave no TTFT: $out"
[ "$first" != "$second" ] || fail "the scheduler of the example changed nothing: $out"

out=$("$prefix/bin/foretoken" --version)
expect "the program says its version" '^foretoken [0-9]+\.[0-9]+\.[0-9]+' "$out"
[ -s "$prefix/share/man/man1/foretoken.1" ] || fail "no man page"

completed() {  # completed WORD...: what bash offers for the last one
  # shellcheck disable=SC1091
  (source "$prefix/share/bash-completion/completions/foretoken"
   COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
   _foretoken
   echo "${COMPREPLY[*]}")
}
expect "bash completes a command" '^simulate$' "$(completed foretoken sim)"
expect "bash completes a command below" '^show$' "$(completed foretoken gpu sh)"
expect "bash completes an option" '^--steps$' "$(completed foretoken simulate --ste)"
expect "bash completes a GPU" '^h200-sxm$' "$(completed foretoken predict --gpu h200)"
[ -s "$prefix/share/zsh/site-functions/_foretoken" ] || fail "no completion for zsh"
[ -s "$prefix/share/fish/vendor_completions.d/foretoken.fish" ] || fail "no completion for fish"

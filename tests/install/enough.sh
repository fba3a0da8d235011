#!/usr/bin/env bash
# enough.sh BUILD SOURCE: whether `cmake --install` finds all it installs after the line that README gives. Asks
# ninja, and so builds nothing: every file that an install script takes from BUILD and that ninja
# makes must be among what its target needs. Before that line, `cmake --install` says what to build.
set -euo pipefail
build=$1 source=$2

fail() { echo "enough: $1" >&2; exit 1; }
in_build() { sed "s|^$build/||" | sort -u; }

target=$(sed -n 's/.*`cmake --build .*--target \([a-z_]*\)`.*/\1/p' "$source/README.md")
[ -n "$target" ] || fail "README names no target to build before cmake --install"
installed=$(find "$build" -name cmake_install.cmake -exec grep -ohE "\"$build/[^\"]*\"" {} + |
            tr -d '"' | in_build)
made=$(ninja -C "$build" -t targets all | sed 's/: [^:]*$//' | in_build)
# Not `-t inputs`: ninja 1.11 leaves out what only phony targets need.
needed=$(ninja -C "$build" -t graph "$target" |
         sed -n 's/^"0x[0-9a-f]*" \[label="\(.*\)"\]$/\1/p' | in_build)

both=$(comm -12 <(echo "$installed") <(echo "$made"))
grep -qx foretoken <<<"$both" || fail "the program is not among what is installed from $build"
missing=$(comm -23 <(echo "$both") <(echo "$needed"))
[ -z "$missing" ] || fail "README builds only '$target'; installed, too, are
$missing"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed 's/libforetoken_library\.a/unbuilt.a/' "$build/cmake_install.cmake" >"$work/install.cmake"
unbuilt=$(cmake -DCMAKE_INSTALL_PREFIX="$work" -P "$work/install.cmake" 2>&1) && fail "installs what is not built"
[[ $unbuilt == *"--target $target"* ]] || fail "before it is built, installing says '$unbuilt'"

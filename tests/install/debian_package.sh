#!/usr/bin/env bash
# debian_package.sh BUILD SOURCE: packs BUILD as it stands into a .deb, whose dependencies apt finds, and
# runs a scenario from a fresh root that holds nothing but what is in it: one whose KV caches cross a network, so that
# the packed program has to find SimGrid's module.
set -euo pipefail
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "debian_package: $1" >&2; exit 1; }

cmake --build "$build" --target foretoken_package >"$work/log" 2>&1 || fail "$(tail -20 "$work/log")"
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/packed" >"$work/log" 2>&1 ||
  fail "cpack: $(cat "$work/log")"
deb=$(echo "$work"/packed/*.deb)
release=$(. /etc/os-release && echo "$ID$VERSION_ID")
[[ $deb == *"~${release}_"*.deb ]] || fail "$deb does not say that it is for $release"
depends=$(dpkg-deb --field "$deb" Depends)
[[ $depends == *libsimgrid* && $depends == *"libc6 (>="* ]] || fail "it depends on '$depends'"
apt-get --simulate install "$deb" >"$work/log" 2>&1 || fail "apt: $(cat "$work/log")"

root=$work/root
dpkg-deb --extract "$deb" "$root"
for file in bin/foretoken share/man/man1/foretoken.1 share/bash-completion/completions/foretoken \
            include/foretoken/sim/library/foretoken.hpp lib/cmake/foretoken/foretokenConfig.cmake; do
  [ -s "$root/usr/$file" ] || fail "$file is not in it"
done
cd "$work"
run=(simulate "$source/examples/disaggregated.toml" --set workload.requests=20 --json)
"$root/usr/bin/foretoken" "${run[@]}" >packed.json
"$build/foretoken" "${run[@]}" >built.json
grep -q '"flows": [1-9]' packed.json || fail "nothing crossed the network"
cmp packed.json built.json || fail "the packed program answers otherwise"
package=$(find "$root/usr/lib" -name '_foretoken*.so' -printf '%h\n')
if [ -n "$package" ]; then
  PYTHONPATH=$(dirname "$package") python3 -c "
import foretoken, json
report = foretoken.simulate('${run[1]}', set=['${run[3]}'])
assert report == json.load(open('packed.json'))"
fi
echo "$(basename "$deb"): $(du -k "$deb" | cut -f1) KiB"

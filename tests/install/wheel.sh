#!/usr/bin/env bash
# wheel.sh BUILD SOURCE: builds the wheel with the network switched off for pip, installs it into a fresh
# virtual environment, and runs a scenario there by program and module: one whose KV caches cross a network, so that
# both have to find SimGrid's module.
set -euo pipefail
build=$1 source=$2
[ "$build" = "$source/build/release" ] || { echo "pip builds in build/release, not in $build"; exit 77; }
python3 -m pip --version >/dev/null 2>&1 || { echo "no pip here (Debian: python3-pip)"; exit 77; }
[ -f "$build/python/foretoken/__init__.py" ] || { echo "no Python module here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "wheel: $1" >&2; exit 1; }

python3 -m pip wheel --no-index --no-build-isolation --no-deps --wheel-dir "$work" "$source" \
  >"$work/log" 2>&1 || fail "pip: $(tail -30 "$work/log")"
wheel=$(echo "$work"/*.whl)
python3 -m venv --without-pip "$work/venv"
python3 -m pip --python "$work/venv/bin/python" install --no-index "$wheel" >"$work/log" 2>&1 ||
  fail "install: $(tail -30 "$work/log")"
cd "$work"
run=(simulate "$source/examples/disaggregated.toml" --set workload.requests=20 --json)
venv/bin/foretoken "${run[@]}" >packed.json
"$build/foretoken" "${run[@]}" >built.json
grep -q '"flows": [1-9]' packed.json || fail "nothing crossed the network"
cmp packed.json built.json || fail "the packed program answers otherwise"
venv/bin/python -c "
import foretoken, importlib.metadata, json, pathlib
assert pathlib.Path(foretoken.__file__).is_relative_to('$work/venv'), foretoken.__file__
report = foretoken.simulate('${run[1]}', set=['${run[3]}'])
assert report == json.load(open('packed.json'))
assert len(report.requests) == report['requests']['arrived']
assert importlib.metadata.version('foretoken') == foretoken.__version__
assert pathlib.Path(foretoken.__file__).with_name('py.typed').exists()"
echo "$(basename "$wheel"): $(du -k "$wheel" | cut -f1) KiB"

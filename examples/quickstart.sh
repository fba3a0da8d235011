#!/usr/bin/env bash
# From a fresh Debian 12 to a first answer: installs the packages, builds the program (release) and
# serves Llama-3.1-8B on one H200 under a few hundred chat requests. Run from any folder; a second
# run rebuilds nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bash .ci/install.sh
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release --target foretoken

exec build/release/foretoken simulate examples/quickstart.toml

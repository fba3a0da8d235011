#!/usr/bin/env bash
# Installs what Foretoken needs to build and to test, on Debian 12: the one step that the quickstart,
# the tests and CI share. Asks dpkg first, so that a second call changes nothing and returns at once.
#
#   install.sh                what the program needs
#   install.sh --calibration  and what training its predictors (LibTorch), foretoken-tune (charts: cairo;
#                             language models: libcurl; its sandbox: libseccomp) and the tests need: Doxygen, the browser that tests
#                             open HTML reports in, the shells that they complete commands in,
#                             what judges layout and spelling, what parses CUDA (clang), and what makes and tries packages
#
# npm brings one library, which draws the charts of HTML reports (sim/report/npm); CMake calls it. Where
# node and npm are there already, from wherever, they stay as they are, and so does a browser.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config ccache git ca-certificates
  libsimgrid-dev libboost-dev libeigen3-dev libtomlplusplus-dev libyaml-cpp-dev libcli11-dev robin-map-dev
  nlohmann-json3-dev libfmt-dev zlib1g-dev libsqlite3-dev
  libopenmpi-dev openmpi-bin
  libgtest-dev libgmock-dev libbenchmark-dev
  pybind11-dev python3-dev
)
command -v npm >/dev/null || packages+=(npm)
if [ "${1:-}" = --calibration ]; then
  packages+=(libtorch-dev libopenblas0-pthread doxygen libcairo2-dev libcurl4-openssl-dev libseccomp-dev zsh fish clang clang-format codespell)
  packages+=(dpkg-dev python3-pip python3-venv python3-kubernetes docker-compose)
  command -v chromium >/dev/null || packages+=(chromium)
fi

missing=()
installed=$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
for package in "${packages[@]}"; do
  grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "These Debian packages are missing: ${missing[*]}" >&2
  echo "Run as root: apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
# The log is only worth reading when something fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi

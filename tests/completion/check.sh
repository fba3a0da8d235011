#!/usr/bin/env bash
# Types the beginnings of command lines into a shell that has our completion loaded and looks at
# what the shell offers. Status 77: skipped, because that shell is not there.
#
#   check.sh FORETOKEN bash|zsh|fish
set -euo pipefail
foretoken=$1 shell=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v "$shell" >/dev/null || { echo "skipped: no $shell (apt-get install $shell)"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$foretoken" completion "$shell" >"$work/_foretoken"
echo "a file" >"$work/scenario.toml"

# What each line ends with once it is completed; "…" where several fit and all are to be offered.
cat >"$work/lines" <<'END'
foretoken sim|simulate
foretoken gpu sh|show
foretoken simulate --ste|--steps
foretoken plan --exh|--exhaustive
foretoken cluster show --do|--dot
foretoken predict --gpu rtx-409|rtx-4090
foretoken predict --gpu=rtx-409|rtx-4090
foretoken gpu show rtx-409|rtx-4090
foretoken step --model gpt-oss-12|gpt-oss-120b
foretoken select --model foretoken_|foretoken_2026
foretoken plan --gpus l40s,rtx-409|l40s,rtx-4090
foretoken completion fi|fish
foretoken keys engine.prese|engine.preset
foretoken simulate --set engine.prese|engine.preset=
foretoken simulate scen|scenario.toml
END

cd "$work"
status=0
# A completion that never ends has to fail here, not stop whoever runs the tests.
if ! timeout 60 "$shell" "$here/complete.$shell" "$work" >"$work/out" 2>"$work/err" </dev/null; then
  echo "$shell did not come to its end:"
  status=1
fi
while IFS='|' read -r line wanted; do
  offered=$(awk -F'\t' -v line="$line" '$1 == line { print $2 }' "$work/out")
  if ! grep -qxF -- "$wanted" <<<"$offered"; then
    echo "$shell: '$line' wants $wanted, and is offered: ${offered//$'\n'/ }"
    status=1
  fi
done <"$work/lines"
# Of a command only what begins alike is offered.
if awk -F'\t' '$1 == "foretoken sim" { print $2 }' "$work/out" | grep -qv '^simulate$'; then
  echo "$shell: 'foretoken sim' is offered more than simulate"
  status=1
fi
# Sourced, not found by fpath, it has to say for whom it is.
if [ "$shell" = zsh ]; then
  owner=$(timeout 20 zsh -f -c "autoload -U compinit; compinit -u -D; source $work/_foretoken
    print \$_comps[foretoken]")
  [ "$owner" = _foretoken ] || { echo "zsh: sourced, it completes nothing: '$owner'"; status=1; }
fi
if [ -s "$work/err" ]; then
  echo "$shell complains:"
  status=1
fi
[ "$status" -eq 0 ] || cat "$work/err"
exit "$status"

#!/usr/bin/env bash
# record_prefixes.sh PROGRAM LOAD_CLIENT SOURCE: prompts that begin alike share KV blocks in what is recorded of
# them too, so that it plays the same again; requests that did not complete are counted.
set -euo pipefail
program=$1 source=$3
# shellcheck source=tests/live/served.sh
source "$source/tests/live/served.sh"

# ask BYTES-IN-COMMON WORD [CURL-OPTION...]: a completion whose prompt begins with as many bytes as others' do.
ask() {
  printf '{"prompt": "%s %s", "max_tokens": 20000, "min_tokens": 20, "stream": true, "stop": " 019"}' \
    "$(head -c "$1" /dev/zero | tr '\0' x)" "$2" |
    curl -sS -o /dev/null "${@:3}" "http://127.0.0.1:$port/v1/completions" -d @-
}
start_server "$source/examples/quickstart.toml" --record "$work/recorded"
for word in one two three four; do ask 24000 "$word"; done
ask 60 five
stop_server
grep -q "Wrote requests.jsonl" "$work/report.txt"
"$program" validate "$work/recorded" --json >"$work/again.json"

start_server "$source/examples/quickstart.toml" --record "$work/left"
ask 60 one
printf '{"prompt": "x", "max_tokens": 20000, "ignore_eos": true, "stream": true}' |
  curl -sS -o /dev/null --max-time 0.5 "http://127.0.0.1:$port/v1/completions" -d @- || true
sleep 0.5
stop_server
grep -q "1 request that did not complete is left out of it" "$work/report.txt" || { cat "$work/report.txt"; exit 1; }

python3 - "$work" <<'EOF'
import json, sys
folder = sys.argv[1]
with open(f"{folder}/recorded/requests.jsonl") as file:
    rows = [json.loads(line) for line in file]
assert [row["prefix_block_tokens"] for row in rows] == [16] * 5
assert [len(row["prefix_hashes"]) for row in rows] == [6001 // 16] * 4 + [4 * 16 // 64]
assert all(row["prefix_hashes"] == rows[0]["prefix_hashes"] for row in rows[1:4])
with open(f"{folder}/again.json") as file:
    latencies = json.load(file)["latencies"]
# The dates are the simulation's own.
for metric in ("TTFT", "TPOT", "E2E"):
    one = latencies[metric]
    off = abs(one["simulated_ms"]["mean"] / one["measured_ms"]["mean"] - 1)
    assert off <= 0.01, f"{metric}: off by {off:.1%}"
EOF

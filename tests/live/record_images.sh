#!/usr/bin/env bash
# record_images.sh PROGRAM LOAD_CLIENT SOURCE: images that clients send are tokens and encoder work, what is
# recorded of them plays the same again, and models without eyes refuse them.
set -euo pipefail
program=$1 source=$3
# shellcheck source=tests/live/served.sh
source "$source/tests/live/served.sh"

# ask CONTENT: the answer to a user's message of these parts.
ask() {
  curl -sS "http://127.0.0.1:$port/v1/chat/completions" -H 'Content-Type: application/json' \
    -d "{\"messages\": [{\"role\": \"user\", \"content\": [$1]}], \"max_tokens\": 40, \"ignore_eos\": true}"
}
# image WIDTH HEIGHT NAME: a part that says how large it is.
image() {
  echo "{\"type\": \"image_url\", \"image_url\": {\"url\": \"https://a/$3\", \"width\": $1, \"height\": $2}}"
}
# text WORD: prompts that begin with another word share no KV blocks, which a record does not tell.
text() {
  echo "{\"type\": \"text\", \"text\": \"$1: what is this?\"}"
}

start_server "$source/examples/images.toml" --speed 4 --record "$work/recorded"
ask "$(text none)" >"$work/text.json"
ask "$(text once), $(image 1280 720 a)" >"$work/one.json"
ask "$(text more), $(image 1280 720 a), $(image 640 480 b)" >"$work/two.json"
ask "$(text else), {\"type\": \"image_url\", \"image_url\": {\"url\": \"https://a/c\"}}" >"$work/remote.json"
pixel=iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==
ask "{\"type\": \"image_url\", \"image_url\": {\"url\": \"data:image/png;base64,$pixel\"}}" >"$work/data.json"
stop_server
"$program" validate "$work/recorded" --json >"$work/again.json"

start_server "$source/examples/quickstart.toml"
ask "$(text else), $(image 1280 720 a)" >"$work/blind.json"
stop_server
start_server "$source/examples/images.toml" --set 'workload={arrivals="poisson", rate="1 /s", requests=1, prompt_tokens=1, output_tokens=5}'
ask "$(text else), $(image 1280 720 a)" >"$work/closed.json"
stop_server

python3 - "$work" <<'EOF'
import json, sys
folder = sys.argv[1]
def read(name):
    with open(f"{folder}/{name}.json") as file:
        return json.load(file)
def tokens(name):
    return read(name)["usage"]["prompt_tokens"]
# 1280 x 720 are 880 tokens of Qwen3.5 and 640 x 480 are 300; one pixel becomes 256 x 256, 64.
assert tokens("one") == tokens("text") + 880
assert tokens("two") == tokens("text") + 880 + 300
assert tokens("data") == 2 + 64, tokens("data")
def why(name):
    error = read(name)["error"]
    assert error["code"] == 400, error
    return error["message"]
assert "URLs are not fetched" in why("remote")
assert why("blind").endswith("is not a multimodal model"), why("blind")
assert why("closed").startswith("At most 0 image(s) may be provided in one prompt"), why("closed")
with open(f"{folder}/recorded/requests.jsonl") as file:
    rows = [json.loads(line) for line in file]
assert len(rows) == 4
assert "images" not in rows[0]
assert rows[1]["images"][0] == rows[2]["images"][0]
assert [image["tokens"] for image in rows[2]["images"]] == [880, 300]
# The dates are the simulation's own.
for metric in ("TTFT", "TPOT", "E2E"):
    one = read("again")["latencies"][metric]
    off = abs(one["simulated_ms"]["mean"] / one["measured_ms"]["mean"] - 1)
    assert off <= 0.01, f"{metric}: off by {off:.1%}"
EOF

#!/usr/bin/env python3
"""Writes DIR/requests.jsonl for `foretoken validate DIR` from the result of vLLM's benchmark client.

Record a run with a client of January 2026 or later (older ones do not write start_times):

    vllm serve MODEL ...
    vllm bench serve --model MODEL ... --save-result --save-detailed --result-filename result.json
    python3 examples/record_vllm_bench.py result.json DIR

All its stamps are the client's, on one clock. Then say in DIR/meta.json what served it: model,
engine_kwargs (the flags given to `vllm serve`), hardware.device_name as `nvidia-smi -L` has it and,
if known, kv_cache.num_gpu_blocks from the server's log (examples/served/meta.json is one).
"""
import json
import pathlib
import sys


def requests(result):
    """One dictionary a request that was answered."""
    columns = ["start_times", "ttfts", "itls", "input_lens", "output_lens"]
    missing = [name for name in columns if name not in result]
    if missing:
        sys.exit(f"{sys.argv[1]} lacks {', '.join(missing)}: record with --save-result "
                 "--save-detailed and a client that writes start_times")
    for number, (start, ttft, gaps, prompt, answer) in enumerate(
            zip(*(result[name] for name in columns))):
        if answer < 1 or ttft <= 0:  # failed
            continue
        yield {
            "request_id": f"bench-{number}",
            "input_toks": prompt,
            "output_toks": answer,
            "arrival_time": start,
            "first_token_ts": start + ttft,
            "last_token_ts": start + ttft + sum(gaps),
        }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "requests.jsonl", "w", encoding="utf-8") as file:
        count = 0
        for request in requests(result):
            file.write(json.dumps(request) + "\n")
            count += 1
    print(f"{count} requests in {folder / 'requests.jsonl'}")
    if not (folder / "meta.json").exists():
        print(f"now write {folder / 'meta.json'}: model, engine_kwargs, hardware.device_name")


main()

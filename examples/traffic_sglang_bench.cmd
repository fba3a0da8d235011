traffic examples/traffic/sglang_bench.jsonl --format sglang_bench --json

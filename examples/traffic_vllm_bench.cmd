traffic examples/traffic/vllm_bench.json --format vllm_bench --json

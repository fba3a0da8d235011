compare examples/engines.toml --preset vllm-v1,sglang,tensorrt-llm --out "$work/compare"

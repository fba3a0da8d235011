predict --gpu h200-sxm --explain examples/kernels.jsonl

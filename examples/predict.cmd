predict --cluster h100-sxm-8x2 examples/kernels.jsonl

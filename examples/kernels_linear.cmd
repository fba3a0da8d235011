predict --gpu l40s --predictor linear examples/kernels.jsonl

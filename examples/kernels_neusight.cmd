predict --gpu l40s --predictor neusight examples/kernels.jsonl

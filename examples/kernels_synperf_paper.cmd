predict --gpu l40s --predictor synperf_paper examples/kernels.jsonl

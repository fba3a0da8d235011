predict --gpu l40s --predictor tritonblas examples/kernels.jsonl

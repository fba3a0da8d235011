step --model llama-3.1-8b --gpu h200-sxm --prefill 9000x1000,8000x1000

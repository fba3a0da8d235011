step --model llama-3.1-8b --gpu h200-sxm --prefill 1x2000000000

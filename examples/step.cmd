step --model llama-3.1-8b --gpu h200-sxm --prefill 1x2048,1x512@4096 --decode 64x1024

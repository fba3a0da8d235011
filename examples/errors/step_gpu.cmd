step --model llama-3.1-8b --gpu h20O-sxm --decode 64x1024

step --model llama-3.1-8b --gpu h100-sxm --decode 64x1000 --adapters 8

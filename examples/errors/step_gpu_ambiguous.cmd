step --model llama-3.1-8b --gpu "A100 80GB" --decode 64x1024

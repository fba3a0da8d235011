dispatch --model llama-3.1-8b --gpu h200-sxm --tokens 64 --balancedness 0.5

step --model llama-3.1-8b --gpu h200-sxm --decode 8x1000 --speculate eagel --drafts 3

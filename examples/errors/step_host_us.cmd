step --model llama-3.1-8b --gpu h200-sxm --decode 4x100 --host-us nan

step --model meta-llama/Llama-3.1-9B-Instruct --gpu h100-sxm --decode 64x1024

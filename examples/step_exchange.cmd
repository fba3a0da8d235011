step --model deepseek-v3 --cluster h200-sxm-8 --dp 8 --ep 8 --framework sglang --decode 64x2048

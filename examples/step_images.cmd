step --model qwen3.5-27b --cluster h200-sxm-2 --tp 2 --prefill 1x2300 --images 1x1240x1754

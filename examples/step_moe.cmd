step --model qwen3-30b-a3b --cluster h100-sxm-8 --tp 4 --dtype fp8 --decode 128x2048 --json

step --model qwen3-omni-30b-a3b --gpu h200-sxm --prefill 1x500 --audio 1x30

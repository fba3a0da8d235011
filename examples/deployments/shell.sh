#!/usr/bin/env bash
# Two vLLM servers on one node of eight GPUs, as somebody starts them by hand.
MODEL=${MODEL:-meta-llama/Llama-3.1-70B}
export VLLM_LOGGING_LEVEL=WARNING

CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve "$MODEL" -tp 4 \
  --max-num-seqs 256 --max-model-len 32K --kv-cache-dtype fp8 --port 8000 &
CUDA_VISIBLE_DEVICES=4,5,6,7 vllm serve "$MODEL" -tp 4 \
  --max-num-seqs 256 --max-model-len 32K --kv-cache-dtype fp8 --port 8001 &
wait

engine show vllm-v1

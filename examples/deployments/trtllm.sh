#!/usr/bin/env bash
# TensorRT-LLM with its options in a file, which wins over flags.
cat > options.yaml <<'EOF'
kv_cache_config:
  free_gpu_memory_fraction: 0.85
  enable_block_reuse: false
enable_chunked_prefill: true
cuda_graph_config:
  enable_padding: true
EOF
trtllm-serve meta-llama/Llama-3.1-8B --tp_size 2 --max_batch_size 256 --max_num_tokens 4096 \
  --extra_llm_api_options options.yaml

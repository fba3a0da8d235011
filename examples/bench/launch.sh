#!/usr/bin/env bash
# What served the requests of result.json.
vllm serve Qwen/Qwen3-8B --max-num-seqs 32

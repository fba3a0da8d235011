import examples/deployments/trtllm.sh --cluster h200-sxm-8 --json

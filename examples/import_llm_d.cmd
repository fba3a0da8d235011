import examples/deployments/llm_d.yaml --cluster h100-sxm-8 --users 32 --json

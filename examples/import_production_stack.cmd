import examples/deployments/production_stack.yaml --cluster h100-sxm-8x4 --rate 4/s

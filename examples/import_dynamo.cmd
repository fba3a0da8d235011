import examples/deployments/dynamo.yaml --cluster h100-sxm-8 --json

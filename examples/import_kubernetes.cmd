import examples/deployments/kubernetes.yaml --json

import examples/deployments/compose.yaml --cluster l40s-8 --json

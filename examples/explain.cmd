explain examples/quickstart.toml --set workload.requests=100

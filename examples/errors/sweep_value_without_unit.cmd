sweep examples/quickstart.toml --vary "workload.rate=4 /s,5" --dry-run

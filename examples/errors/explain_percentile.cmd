explain examples/quickstart.toml --percentile tpot

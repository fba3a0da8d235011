explain examples/swap.toml --percentile e2e:50 --split-only --json

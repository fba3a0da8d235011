explain examples/speculative_tree.toml --percentile tpot:50 --split-only

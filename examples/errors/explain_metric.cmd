explain examples/quickstart.toml --percentile ttfd:99

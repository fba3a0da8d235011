traffic examples/traffic/metrics_range.json --json

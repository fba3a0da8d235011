traffic examples/traffic/metrics_before.txt examples/traffic/metrics_after.txt --over 5min --format prometheus --json

traffic examples/traffic/metrics_after.txt --over 0s

traffic examples/traffic/metrics_after.txt examples/traffic/metrics_after.txt --over 10min

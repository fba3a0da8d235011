traffic examples/traffic/metrics_after.txt --over 10min --users -1

traffic examples/traffic/metrics_after.txt --over 10min --rate 0/s

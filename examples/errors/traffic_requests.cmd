traffic examples/traffic/metrics_after.txt --over 10min --rate 4/s --requests 99999999999

simulate examples/quickstart.toml --traffic examples/traffic/metrics_after.txt --over 5min

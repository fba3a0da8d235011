traffic examples/traffic/sharegpt.json --format sharegpt --json

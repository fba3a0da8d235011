traffic examples/traffic/burstgpt.csv --format burstgpt --json

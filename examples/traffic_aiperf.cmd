traffic examples/traffic/aiperf.jsonl --format aiperf --json

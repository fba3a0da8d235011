traffic examples/traces/bailian.jsonl --format bailian --json

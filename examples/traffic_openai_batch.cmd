traffic examples/traffic/openai_batch.jsonl --format openai_batch --json

traffic examples/traffic/litellm.jsonl --format litellm --json

traffic examples/traces/chats.jsonl --format conversations --json

traffic examples/traffic/guidellm.json --format guidellm --json

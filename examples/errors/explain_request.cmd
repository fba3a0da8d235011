explain examples/quickstart.toml --request 400 --split-only

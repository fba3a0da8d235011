simulat examples/quickstart.toml

simulate examples/quickstart.toml --trace out.json

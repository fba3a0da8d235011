simulate examples/nowhere.toml

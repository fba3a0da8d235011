cluster check examples/errors/clusters/misplaced_key.toml

cluster check examples/errors/clusters/efficiency.toml

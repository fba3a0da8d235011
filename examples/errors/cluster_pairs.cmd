cluster check examples/errors/clusters/pairs.toml

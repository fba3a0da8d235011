cluster check examples/errors/clusters/dragonfly.toml

cluster check examples/errors/clusters/unreachable.toml

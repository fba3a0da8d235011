cluster check examples/errors/clusters/oversubscription.toml

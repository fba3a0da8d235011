cluster check examples/errors/clusters/fabric_kind.toml

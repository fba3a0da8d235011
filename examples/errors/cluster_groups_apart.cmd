cluster check examples/errors/clusters/groups_apart.toml

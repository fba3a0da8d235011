cluster check examples/errors/clusters/groups_unknown.toml

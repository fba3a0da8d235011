cluster show examples/clusters/dragonfly.toml

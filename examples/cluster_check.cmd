cluster check examples/clusters/torus.toml

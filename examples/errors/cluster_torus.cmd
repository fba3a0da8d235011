cluster check examples/errors/clusters/torus.toml

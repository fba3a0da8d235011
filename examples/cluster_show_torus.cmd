cluster show examples/clusters/torus.toml

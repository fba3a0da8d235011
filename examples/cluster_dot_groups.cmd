cluster show --dot examples/clusters/h100_and_h200.toml

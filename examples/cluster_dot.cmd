cluster show --dot examples/clusters/pcie_switches.toml

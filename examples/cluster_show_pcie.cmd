cluster show examples/clusters/pcie_switches.toml

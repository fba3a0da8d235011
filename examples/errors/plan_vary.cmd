plan examples/quickstart.toml --max-load --vary gpu.dram_bandwith=+20%

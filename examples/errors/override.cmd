simulate examples/quickstart.toml --set engine.sequence_max=64 --set "workload.rate=eight"

step --scenario examples/quickstart.toml --decode 4x1000 --set engine.sequence_max=8

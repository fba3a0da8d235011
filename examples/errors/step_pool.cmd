step --scenario examples/disaggregated.toml --decode 64x1024

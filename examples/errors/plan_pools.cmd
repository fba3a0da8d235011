plan examples/disaggregated.toml --pools 1:0,2

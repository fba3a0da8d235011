simulate examples/images.toml --set engine.preset=sglang

simulate examples/moe_dispatch.toml --set predictor.dispatch=static

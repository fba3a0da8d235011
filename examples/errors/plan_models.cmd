plan examples/two_models.toml --max-load

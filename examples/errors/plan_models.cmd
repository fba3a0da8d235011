plan examples/two_models.toml

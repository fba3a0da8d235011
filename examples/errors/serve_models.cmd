serve examples/two_models.toml --record served

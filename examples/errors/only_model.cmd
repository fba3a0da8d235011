simulate examples/two_models.toml --set run.only_model=llama-3.1-8

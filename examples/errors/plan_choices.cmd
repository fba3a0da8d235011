plan examples/errors/plan_choices.toml

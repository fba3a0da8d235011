plan examples/plan_models.toml --report plan.html

plan examples/plan_models.toml --quick --out "$work/plan"

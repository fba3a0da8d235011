plan examples/errors/plan_twice.toml

plan examples/errors/plan_table.toml

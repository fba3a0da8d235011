plan examples/plan.toml --max-load --margin 0.5 --dry-run

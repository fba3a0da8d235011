sweep examples/million_tokens.toml --vary "model.name=examples/models/qwen2.5-14b-1m.toml,kimi-linear-48b-a3b" --store "$work/sweep.sqlite"

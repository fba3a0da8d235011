sweep examples/million_tokens.toml --vary "model.name=examples/models/qwen2.5-14b-1m.toml,deepseek-v4-flash" --store "$work/sweep.sqlite"

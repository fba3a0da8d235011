simulate examples/trace_sessions.toml --set workload.trace=examples/traces/mooncake_sessions.jsonl --set workload.trace_format=mooncake

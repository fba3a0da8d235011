simulate examples/quickstart.toml --trace trace.json --trace-kernels some

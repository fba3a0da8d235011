simulate examples/quickstart.toml --picture out.png

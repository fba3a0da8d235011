sweep examples/quickstart.toml --vary deployment.tensor_parallel=1,2 --no-run --store no_such.sqlite

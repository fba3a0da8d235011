sweep examples/quickstart.toml --vary "workload.rate=4 /s,12 /s" --vary deployment.tensor_parallel=1,2 --seeds 3 --set workload.requests=100 --store "$work/sweep.sqlite"

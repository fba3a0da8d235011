plan examples/two_models.toml --max-load --quick --set workload.requests=400 --set plan.replications=[1,1] --set plan.tolerance=0.05 --vary gpu.dram_bandwidth=+20% --out "$work/max_load"

compare examples/disaggregated.toml --set cluster.name=h100-sxm-8x4 --set "workload.rate=10 /s" --set workload.requests=200 --pools 1:3,2:2,3:1 --out "$work/compare"

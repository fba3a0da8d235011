compare examples/tensor_parallel.toml --set cluster.name=h200-sxm-8x2 --set workload.requests=60 --tp 2,3,4,8 --pp 1,2 --replicas auto --out "$work/compare"

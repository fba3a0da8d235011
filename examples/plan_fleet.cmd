plan examples/plan.toml --gpus h200-sxm,b200-sxm,l40s --tp 2,4,8 --pp 1 --set workload.requests=200 --set plan.replications=[1,2] --set plan.gpus_max=32 --out "$work/plan"

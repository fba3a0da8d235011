plan examples/plan.toml --gpus h100-sxm,h200-sxm --tp 3,5

plan examples/closed_loop.toml --gpus h100-sxm --set "slo.ttft=1 s"

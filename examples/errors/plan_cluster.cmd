plan examples/plan.toml --clusters h200-sxm-8,h20o-sxm-8

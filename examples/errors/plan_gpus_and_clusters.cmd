plan examples/plan.toml --gpus l40s --clusters h100-sxm-8 --dry-run

cluster show h100-sxm-8x4 --json

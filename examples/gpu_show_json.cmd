gpu show h200-sxm --json

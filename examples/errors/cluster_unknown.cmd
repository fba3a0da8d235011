cluster show h100-sxm-8x128-superpot

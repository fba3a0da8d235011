engine list --gpu h100-sxm --tp 4 --json

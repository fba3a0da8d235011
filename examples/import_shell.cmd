import examples/deployments/shell.sh --cluster h100-sxm-8 --rate 4/s

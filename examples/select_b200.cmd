select --gpu b200-sxm --gemm 64x28672x8192 --dtype fp8 --model origami_2026 --top 2 --explain --json

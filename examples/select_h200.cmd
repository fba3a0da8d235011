select --gpu h200-sxm --gemm 64x28672x8192 --model foretoken_2026 --top 3 --explain

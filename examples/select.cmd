select --gpu mi300x --gemm 4096x6144x4096 --model origami_2025 --top 3 --explain

select --gpu mi300x --gemm 64x28672x8192 --dtype fp8 --top 3

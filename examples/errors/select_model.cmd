select --gpu h200-sxm --gemm 4096x4096x4096 --model origami_2052

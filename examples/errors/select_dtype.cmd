select --gpu h200-sxm --gemm 4096x4096x4096 --dtype nvfp4

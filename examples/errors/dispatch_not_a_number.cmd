dispatch --model mixtral-8x7b --gpu h200-sxm --tokens 64 --balancedness nan

dispatch --model olmoe-1b-7b --gpu h200-sxm --dtype fp8 --tokens 100 --balancedness 0.5 --top 3

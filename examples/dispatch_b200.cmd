dispatch --model olmoe-1b-7b --gpu b200-sxm --dtype fp8 --tokens 512 --balancedness 0.5 --json

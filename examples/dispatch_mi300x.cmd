dispatch --model olmoe-1b-7b --gpu mi300x --tokens 512 --balancedness 0.5

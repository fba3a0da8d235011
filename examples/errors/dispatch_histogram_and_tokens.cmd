dispatch --model mixtral-8x7b --gpu h200-sxm --tokens 64 --histogram examples/errors/histograms/sixteen.csv --balancedness 0.5

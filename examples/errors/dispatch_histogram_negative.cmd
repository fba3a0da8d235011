dispatch --model mixtral-8x7b --gpu h200-sxm --histogram examples/errors/histograms/negative.csv

dispatch --model olmoe-1b-7b --gpu h100-sxm --dtype fp8 --tokens 100 --balancedness 0.5 --top 3 --profile calibration/artifacts/wave/one_launch/h100-sxm_fp8.json

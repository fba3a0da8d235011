step --model llama-3.1-70b --cluster h200-sxm-4 --tp 4 --decode 32x2000 --speculate eagle --draft-model eagle3-llama-3.1-70b --drafts 3

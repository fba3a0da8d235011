predict --gpu mi300x --explain examples/kernels.jsonl

predict --cluster h100-sxm-8 examples/all_reduces.jsonl

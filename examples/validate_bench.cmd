validate examples/bench --cluster l40s-1

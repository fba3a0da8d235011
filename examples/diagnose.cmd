diagnose calibration/datasets/h200/silu_and_mul.csv calibration/datasets/h200/rms_norm.csv --gap 0.05 --worst 4

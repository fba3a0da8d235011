gpu check examples/gpus/imaginary-x1.toml

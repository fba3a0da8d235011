validate examples/errors/served/unknown_gpu

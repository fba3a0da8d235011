validate examples/errors/served/unknown_model

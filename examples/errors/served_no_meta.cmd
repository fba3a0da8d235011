validate examples/errors/served/no_meta

validate examples/errors/served/cut

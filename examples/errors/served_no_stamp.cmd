validate examples/errors/served/no_stamp

validate examples/served

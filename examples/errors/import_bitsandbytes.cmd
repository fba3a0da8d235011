model import examples/errors/models/bitsandbytes.json

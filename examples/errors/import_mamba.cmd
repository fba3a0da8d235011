model import examples/errors/models/mamba.json

model import examples/errors/models/quip.json

model import examples/errors/models/indexer.json

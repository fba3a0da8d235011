// The tables [vision] and [audio] of a model's TOML. Internal to this room.
#pragma once

#include "models/transformer.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// Reads the encoders that are there. Reports what is missing or cannot be.
void read_encoders(TableReader& table, Transformer& model);
/// Nothing for a model without.
void write_encoders(Value& table, const Transformer& model);

}  // namespace foretoken

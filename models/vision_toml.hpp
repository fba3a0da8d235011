// The table [vision] of a model's TOML. Internal to this room.
#pragma once

#include "models/transformer.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// Reads [vision] into model.vision, if it is there. Reports what is missing or cannot be.
void read_vision(TableReader& table, Transformer& model);
/// Nothing for a model without.
void write_vision(Value& table, const Transformer& model);

}  // namespace foretoken

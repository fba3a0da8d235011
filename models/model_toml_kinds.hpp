// Kinds of layers in a model's TOML: layer_kinds and the tables [kinds.NAME]. Internal to this
// room.
#pragma once

#include "models/transformer.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// layer_kinds = ["sliding", "sliding", "full"], and a table [kinds.NAME] for each name.
void read_kinds(TableReader& table, Transformer& model);
/// Nothing for a model without kinds.
void write_kinds(Value& table, const Transformer& model);

/// Sets what is not false or 0.
inline void set_if(Value& table, std::string_view key, bool value) {
  if (value) table.set(key, true);
}
inline void set_if(Value& table, std::string_view key, std::int64_t value) {
  if (value != 0) table.set(key, value);
}

}  // namespace foretoken

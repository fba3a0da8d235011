// Which architectures of Hugging Face's config.json are read, and by whom: the registry of the
// importer. A family of architectures is one file beside this one. Internal to this room.
#pragma once

#include <span>
#include <string_view>

#include "models/transformer.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// A config.json while it is read. `table` is of the language model: the file itself, or its
/// "text_config".
struct ConfigReader {
  TableReader& table;
  const Value& config;  // the whole file
  Transformer& model;
};

struct Architecture {
  std::string_view name;
  void (*read)(ConfigReader& config);
};

/// Those that are read.
std::span<const Architecture> architectures();

/// The reader of the first of "architectures" (released configs have exactly one). ConfigError for
/// one that nobody reads.
const Architecture& find_architecture(const Value& config);

}  // namespace foretoken

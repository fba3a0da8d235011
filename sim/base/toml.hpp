// TOML in and out of a Value tree. The only place that includes toml++.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/value.hpp"

namespace foretoken {

/// Parses TOML text; `source` names it in positions. Throws ConfigError with line and column.
Value parse_toml(std::string_view text, const std::string& source);

/// Reads and parses a file. A file that cannot be read is a ConfigError too.
Value load_toml(const std::filesystem::path& path);

/// Applies one "table.key=value" to `root`, creating tables as needed. The value is TOML; a bare
/// word that is no TOML value counts as a string, so `--set model.name=qwen3-8b` needs no quotes.
/// Positions of what it sets read "--set table.key=value".
void apply_override(Value& root, std::string_view assignment);

/// Writes `root` as TOML: plain members first, then a [table] for each object. Numbers are written
/// so that parsing gives back the same bits.
std::string to_toml(const Value& root);

}  // namespace foretoken

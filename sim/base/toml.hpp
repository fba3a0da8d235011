// TOML in and out of a Value tree. The only place that includes toml++.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/file_kind.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// Parses TOML text; `source` names it in positions. Throws ConfigError with line and column.
Value parse_toml(std::string_view text, const std::string& source);

/// Reads and parses a file. A file that cannot be read is a ConfigError too, and so is one of
/// another kind than `wanted`.
Value load_toml(const std::filesystem::path& path, FileKind wanted);
Value load_toml(const std::filesystem::path& path);

/// A value as it stands after "key = ".
std::string inline_toml(const Value& value);

/// Writes `root` as TOML: plain members first, then a [table] for each object. Numbers are written
/// so that parsing gives back the same bits.
std::string to_toml(const Value& root);

}  // namespace foretoken

// JSON in and out of a Value tree. The only place that includes nlohmann/json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "sim/base/value.hpp"

namespace foretoken {

/// Parses one JSON document; `position` names its place (line 0 for a whole file: the line of a
/// syntax error is filled in). null members are dropped, an integer beyond 64 bits becomes a
/// number. Throws ConfigError.
Value parse_json(std::string_view text, const SourcePosition& position);
Value load_json(const std::filesystem::path& path);

/// Keys in insertion order, shortest digits that read back to the same bits; a number that is not
/// finite becomes null. indent < 0: one line.
std::string to_json(const Value& value, int indent = 2);

}  // namespace foretoken

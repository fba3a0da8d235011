// How deep a TOML text nests, told from its characters alone. toml++ builds dotted keys without a
// limit, and whoever walks or frees the tables recurses: 62 KB of dots overflow a stack before the
// parser returns. So depth is bounded before parsing.
#pragma once

#include <string_view>

#include "sim/base/error.hpp"

namespace foretoken {

/// Far more than any file of ours has.
inline constexpr int levels_max = 100;

/// Throws ConfigError where a key, a table's name, or tables and arrays within each other would
/// make more than levels_max levels. Text that is no TOML passes: the parser says what is wrong.
void check_toml_nesting(std::string_view text, const std::string& source);

/// What both formats say of a document that nests deeper.
std::string too_deep_message();

}  // namespace foretoken

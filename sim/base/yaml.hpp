// YAML in and out of a Value tree: manifests, Helm values and engines' configuration files. The
// only place that includes yaml-cpp. Size, depth and what aliases expand to are bounded: ten lines
// of aliases of aliases are a billion values. Tags have no meaning, and merge keys (<<) are
// followed.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

/// The documents of a YAML text, empty ones left out; `source` names it in positions. Plain true,
/// false, integers and numbers have those types, null members are dropped. Throws ConfigError.
std::vector<Value> parse_yaml(std::string_view text, const std::string& source);

/// One document, keys in insertion order; text that would read back as something else is quoted.
std::string to_yaml(const Value& value);

}  // namespace foretoken

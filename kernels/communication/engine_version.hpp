// Engines by version: how a scenario or a table names one, and which of two versions is older. What
// depends on it is the business of the tables (engine_all_reduce.hpp, engine_exchange.hpp).
#pragma once

#include <optional>
#include <string_view>

#include "kernels/implementation.hpp"

namespace foretoken {

/// An engine as a scenario may name it: "sglang", "vllm-0.14".
struct EngineVersion {
  Framework engine = Framework::vllm;
  std::string_view version;  // "": the newest that is known
};
std::optional<EngineVersion> parse_engine_version(std::string_view name);

/// Whether version `a` came before `b`: numbers are compared as numbers, "0.9" before "0.14", and
/// "1.3.0rc10" before "1.3.0".
bool is_older(std::string_view a, std::string_view b);

/// Whether what was so since version `one` goes before what was so since `other` for somebody who
/// asks for `asked`: the newest that is not newer, for a version older than all the oldest, for ""
/// the newest.
bool is_nearer(std::string_view asked, std::string_view one, std::string_view other);

}  // namespace foretoken

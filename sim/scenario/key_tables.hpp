// Every key of a scenario with its type, unit, default, allowed values and meaning: what
// `foretoken keys` prints, and what a misspelt key is compared with. Options of variants are with
// their catalogs, [plan] with the planner.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/keys.hpp"

namespace foretoken {

/// Tables in the order in which a scenario is written.
const std::vector<KeyTable>& scenario_key_tables();

/// "[deployment]", if exactly one table has a key of this name; else "".
std::string table_of_key(std::string_view key);

}  // namespace foretoken

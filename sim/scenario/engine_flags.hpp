// What stands in a scenario's [engine] table, in this project's keys: flags of the engine under
// their own names are translated, and a preset's values lie beneath the user's. It knows no key's
// meaning; tables/engine.cpp reads the outcome.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/scenario/engine_preset.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

struct EngineTable {
  Value table;
  std::vector<std::string> preset_keys;  // set by the preset alone
  WrittenAs written_as;
  std::vector<std::string> flags;  // that could have stood there
};

/// `user` is the table without `preset`; `preset` may be null, then vLLM's flags are understood and
/// nothing is set beneath. What `user` says of drafts and cached prefixes stands in for `place`'s.
/// Reports one thing given under two names, and flags of other engines.
EngineTable translate_engine_table(const Value& user, const EnginePreset* preset, PresetPlace place,
                                   Diagnostics& diagnostics);

/// Adds `found`, mistakes of the table called `table_name`, to `diagnostics`; keys are called as
/// they were written.
void report_as_written(const ConfigError& found, const std::string& table_name,
                       const WrittenAs& written_as, Diagnostics& diagnostics);

}  // namespace foretoken

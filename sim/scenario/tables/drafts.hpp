// Keys of [engine.speculative] about how many tokens are drafted and how many of them accepted.
#pragma once

#include <optional>

#include "sim/base/table_reader.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// More than any engine is run with, and few enough for the attention kernels of decodes.
inline constexpr int drafts_limit = 64;

/// One probability, one for each position, or the name of a text; look_up_acceptance() then knows
/// the numbers.
void read_acceptance(TableReader& table, SpeculativeSettings& settings);
/// "coding" as numbers, if drafts of that model were measured on it.
void look_up_acceptance(TableReader& table, const Scenario& scenario,
                        SpeculativeSettings& settings);

void read_drafts_by_batch(TableReader& table, SpeculativeSettings& settings);
std::optional<Value> drafts_by_batch_value(const SpeculativeSettings& settings);

}  // namespace foretoken

// The steps of a simulated run, and what each counts towards an objective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/enum_names.hpp"

namespace foretoken::tune {

/// What a faster kernel is to lower. cost: the GPUs' time, in which every step counts once. tpot:
/// the mean time between tokens, in which a step counts for each answer that waits for it.
enum class Objective { cost, tpot };

struct TrafficStep {
  std::int64_t tokens = 0, logit_rows = 0;
  std::int64_t replica = 0;
  double decodes = 0;  // sequences that get a token
  double seconds = 0;
  double weight = 1;
};

/// Steps of the first stage with tokens in them, from JSON lines of `foretoken simulate --steps`,
/// with their weights. Where a step has prompts alone, those answers wait that the replica decodes
/// before and after it: the fewer of both. Throws ConfigError for anything else in the file, one
/// without a step, and objective tpot where nothing is decoded.
std::vector<TrafficStep> read_traffic_steps(const std::string& path, Objective objective);

}  // namespace foretoken::tune

template <>
struct foretoken::EnumNames<foretoken::tune::Objective> {
  static constexpr auto names = std::to_array<std::string_view>({"cost", "tpot"});
};

// What a table of tuned configurations loses between its batch sizes, against the routing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/wave_fit.hpp"

namespace foretoken {

/// What vLLM and SGLang fall back to without a tuned table (facts of their get_default_config), or
/// what of the grid is nearest to it; nullopt if nothing has its tile.
std::optional<std::size_t> fallback_tile(const MoeGrid& grid, const MoeGridPoint& point);

/// Mean regrets over the points of a batch size, each of a choice by predicted times.
struct PolicyRegrets {
  std::int64_t tokens = 0;  // 0: of all
  int points = 0;
  double bucket = 0, finer_bucket = 0, fixed = 0;  // moe_dispatch.hpp
  double tuned_at_each = 0;  // a table with an entry for every batch size, experts alike
  double routing_aware = 0;
};

/// Of points whose batch size is no power of two (where static and bucket are one by definition),
/// by batch size, all of them last; times are fitted on other batch sizes. Empty without such
/// points.
std::vector<PolicyRegrets> judge_policies(const MoeGrid& grid, const WaveFitOptions& options);

/// The same as text; "" without such points.
std::string policy_table(const MoeGrid& grid, const WaveFitOptions& options);

}  // namespace foretoken

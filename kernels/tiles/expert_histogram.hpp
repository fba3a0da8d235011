// Histograms of a routed step at a wanted balancedness (entropy of the assignments over ln E), four
// ways of being uneven: what dispatch is measured on, and what the simulator may draw.
//
// The mode matters where a token's experts are distinct, as routers make them: then balancedness
// cannot be below ln k / ln E (0.5 for 8 of 64), and a single token is always exactly there. RaMP's
// test points at 0.2 therefore need draws with replacement, and its finding that decode steps are
// at 0.5 with 8 to 14 % of experts active is what steps of one token give at any routing.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/enum_names.hpp"
#include "sim/base/random.hpp"

namespace foretoken {

/// active_subset   round(E^beta) experts have all assignments, evenly
/// zipf            shares i^-s, s solved for beta; assignments drawn with replacement
/// onehot_mix      q / E each, the rest on one expert (Alpha-MoE's tuner), q solved for beta
/// topk_distinct   each token takes k distinct experts of Zipf's popularity (Gumbel top-k), s
///                 solved so that the drawn histograms have beta on average
enum class HistogramMode { active_subset, zipf, onehot_mix, topk_distinct };
template <>
struct EnumNames<HistogramMode> {
  static constexpr auto names =
      std::to_array<std::string_view>({"active_subset", "zipf", "onehot_mix", "topk_distinct"});
};

struct HistogramRequest {
  int experts = 0, topk = 0;
  std::int64_t tokens = 0;
  double balancedness = 1;  // above 0, at most 1
  HistogramMode mode = HistogramMode::zipf;
};

/// ln k / ln E: no routing to k distinct experts is more uneven than all tokens taking the same k.
double balancedness_floor(int experts, int topk);

/// Assignments of each expert, experts in random order, adding up to tokens x topk. The realised
/// balancedness differs from the wanted one by the draw's luck, and with few assignments lies below
/// it (there must be at least E^beta of them to reach beta). Throws ConfigError without a position
/// for topk_distinct below its floor.
std::vector<std::int64_t> draw_histogram(const HistogramRequest& request, RandomStream& stream);

/// Shares that the mode gives experts before anything is drawn, the largest first; not for
/// topk_distinct, whose draws are not independent.
std::vector<double> histogram_shares(const HistogramRequest& request);

}  // namespace foretoken

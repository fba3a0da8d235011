// How far a kernel is from what the best fifth of comparable launches reach (SynPerf, Section VII;
// kernels/estimators/ceiling.hpp): which kernels are worth tuning, and when to stop. Only kernels
// that serving knows have such a ceiling; for the others there is the roof of the header's own
// costs, which says how far it could be at most and nothing of what anybody reached.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "calibration/tune/evaluation.hpp"
#include "hardware/gpu.hpp"
#include "kernels/estimators/ceiling.hpp"

namespace foretoken::tune {

/// By shape.
struct CeilingTimes {
  std::string family;
  std::vector<double> seconds;       // a launch at the ceiling
  std::vector<double> roof_seconds;  // the theoretical time
  bool is_transferred = false;       // learned on other GPUs alone
};

struct CeilingAnswer {
  std::optional<CeilingTimes> times;
  std::string why_not;  // where there are none
};
CeilingAnswer ceiling_of(const Problem& problem, const GpuSpec& gpu, const Ceilings& ceilings);

/// Default margin around a ceiling, a ratio of times.
inline constexpr double ceiling_margin = 0.02;

/// An implementation against the ceiling.
struct Standing {
  /// Median over shapes of ceiling - efficiency, as `foretoken diagnose` has it.
  double gap = 0;
  /// How much faster one at the ceiling is: the runtime-weighted speed-up that the search tells
  /// kernels by, from this one's times to the ceiling's. Below 1: faster than the ceiling.
  double speedup_left = 1;
  /// Time of all shapes at the ceiling over this one's.
  double time_share = 1;

  /// Within `margin` of it: what is closer is beyond what networks and timings can tell.
  [[nodiscard]] bool is_at_ceiling(double margin) const { return speedup_left <= 1 + margin; }
};
/// As many `seconds` as shapes.
Standing standing_of(const CeilingTimes& ceiling, std::span<const double> seconds);

/// Time at the roof of the header's costs over the implementation's, all shapes together. Above 1
/// where data that counts as DRAM traffic came from the L2.
double roof_share(const Problem& problem, const Candidate& candidate,
                  std::span<const double> seconds, const GpuSpec& gpu);

}  // namespace foretoken::tune

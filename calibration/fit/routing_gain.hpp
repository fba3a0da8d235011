// What choosing configurations by the routing gains over the static policy, the measured best at
// balancedness 1 for as many tokens (RaMP's headline).
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "calibration/fit/judge_wave.hpp"

namespace foretoken {

struct GeometricMean {
  double logs = 0;
  int count = 0;
  void add(double ratio) {
    logs += std::log(ratio);
    ++count;
  }
  [[nodiscard]] double value() const { return count == 0 ? 1 : std::exp(logs / count); }
};

/// Points by architecture, tokens and balancedness.
using PointIndex = std::map<std::tuple<std::string, std::int64_t, double>, std::size_t>;
PointIndex index_of_points(const MoeGrid& grid);

/// The static policy's tile; nullopt without a point at balancedness 1 for as many tokens.
std::optional<std::size_t> static_tile(const MoeGrid& grid, const PointIndex& index,
                                       const MoeGridPoint& point);

/// Of some points: speed-up over the static policy, what the measured best would give, points that
/// got slower.
struct RoutingGain {
  GeometricMean speedup, oracle;
  int losses = 0;
  double largest_loss = 0, largest_gain = 0;
};

struct RoutingGains {
  std::map<std::string, RoutingGain> by_architecture;
  std::map<double, RoutingGain> by_balancedness;
  RoutingGain total;
  double slowdown = 0;  // mean of time over static's, less 1
};

/// Of choices that a judgement made. At powers of two the policy "bucket" is the same.
RoutingGains routing_gains(const MoeGrid& grid, const WaveJudgement& judged);

/// Those of the shipped fit, each point held out once, as text.
std::string speedup_table(const MoeGrid& grid, const WaveFitOptions& options);

}  // namespace foretoken

// What the replicas of a part of a fleet cost over a run, and how many there were.
#pragma once

#include <vector>

#include "sim/metrics/timeline.hpp"

namespace foretoken {

/// Replicas in a row.
struct FleetPart {
  std::size_t first = 0, count = 0;
};

/// What replicas cost and how many there were, in replica-seconds. Up are those that have their
/// GPUs to themselves: starting, serving or draining, not failed ones.
struct FleetUsage {
  struct Change {
    Seconds at;
    int up = 0;  // from then on
  };
  Seconds up, serving;
  /// Starts in all, those out of sleep, and those with weights of another replica.
  std::int64_t starts = 0, wakes = 0, starts_from_peer = 0;
  std::int64_t role_switches = 0;  // in place of another pool's replica
  std::int64_t failures = 0;
  int up_max = 0;
  std::vector<Change> changes;  // the first is where counting began
  LoadCurve* curve = nullptr;   // takes serving replicas over time, if there is one

  /// Replicas that were up between the two dates, on average.
  [[nodiscard]] double up_mean(Seconds from, Seconds to) const;
};

}  // namespace foretoken

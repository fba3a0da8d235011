// What a metrics server keeps of a replica, and what is asked of it: the most within a time, and
// means of the requests that ended within another (Prometheus' max_over_time and rate).
#pragma once

#include <algorithm>
#include <deque>

#include "sim/serving/fleet.hpp"
#include "sim/serving/variant_analyzer.hpp"

namespace foretoken {

/// A replica's metrics at one date; counts since the beginning of the run.
struct ReplicaScrape {
  Seconds at;
  double kv_share = 0;
  std::int64_t queued = 0;
  Fleet::Served served;
  PrefixCounts prefixes;
};

class ReplicaScrapes {
 public:
  /// `window` is the longest that the most is asked of.
  explicit ReplicaScrapes(Seconds window) : keep_(std::max(window, mean_window)) {}

  void add(const ReplicaScrape& scrape);
  /// The replica is gone, and its metrics with it.
  void clear() { kept_.clear(); }
  /// Whether there is one within `window` before `now`.
  [[nodiscard]] bool any(Seconds now, Seconds window) const;
  /// At `now`, with any() of `window`. `kv_capacity` is left to the caller.
  [[nodiscard]] ReplicaMetrics seen(Seconds now, Seconds window) const;

 private:
  /// Over which means of requests are taken (WVA's queries: rate(...[5m])).
  static constexpr Seconds mean_window{300.0};

  Seconds keep_;
  std::deque<ReplicaScrape> kept_;
};

}  // namespace foretoken

// What a plan has to know of the traffic before it runs anything: how fast requests come, how long
// they are, and how the load can be made smaller or larger without changing its nature.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/scenario/scenario.hpp"

namespace foretoken {

struct SampledRequest {
  std::int64_t prompt_tokens = 0, output_tokens = 1;
  Seconds arrival = Seconds(0.0);
  int priority = 0;
};

/// How many requests come when: equal parts of the time from 0 on.
struct ArrivalCounts {
  Seconds part;                      // how long each is
  std::vector<std::int64_t> counts;  // of each

  /// As many as come between two times, if those of a part come evenly.
  [[nodiscard]] double between(Seconds begin, Seconds end) const;
};

struct ModelShare {
  std::string name;
  double share = 1;
};

struct TrafficSample {
  std::vector<SampledRequest> requests;  // the first of them, in order of arrival
  double share = 1;                      // of the requests that [workload]'s own limit counts
  std::int64_t count = 0;                // of all, as far as counted
  bool is_all = true;                    // false: counting stopped before the last
  Seconds span;                          // first to last arrival
  Seconds last;                          // arrival
  PerSecond rate;
  double rate_scale = 1;                                // what the scenario says
  std::optional<Seconds> duration;                      // likewise
  std::optional<Seconds> diurnal_period, diurnal_peak;  // likewise
  bool is_recorded = false;  // arrivals and lengths from a trace: no seed changes them
  bool shares_prefixes = false;
  std::vector<ModelShare> models = {};  // of the requests, where there are several
  bool is_open = true;                  // no arrival depends on an answer, and nobody gives up
  ArrivalCounts arrivals;

  [[nodiscard]] double output_tokens_mean() const;
};

/// Draws the scenario's traffic with its own seed. Throws ConfigError where it has no rate that
/// could be planned for: closed loops, whose users set the pace, and batches that arrive at once.
TrafficSample sample_traffic(const Scenario& scenario);

}  // namespace foretoken

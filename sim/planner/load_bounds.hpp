// What the datasheet alone forbids, before anything is simulated: the time that products, weights
// and KV reads take at least if tensor cores and DRAM run at their full rates, all-reduces at the
// links' full rate, and nothing else takes any time. A real engine is slower, so that what these
// bounds rule out cannot be. What they leave out: other communication, norms, sampling, host time,
// launches, queueing.
#pragma once

#include "sim/planner/traffic_sample.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

struct LoadBounds {
  double units = 0;      // replicas (or sets of pools) that the load takes at least, not rounded
  double attainment = 1; // share of requests that can meet the SLO at best, however many there are
  double latency_ms = 0; // of the metric that deployments are ranked by
  std::string too_large = {};  // why the weights cannot fit; "" = they may
};

/// Of one replica of `scenario`, or one of each set of its pools as their replicas say, under the
/// traffic. `latency` names one of plan_metrics() of kind time.
LoadBounds load_bounds(const Scenario& scenario, const TrafficSample& traffic,
                       std::string_view latency);

}  // namespace foretoken

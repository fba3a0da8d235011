// What the prices of single steps forbid, before anything is simulated: a prompt takes its own
// step, a token its share of the fullest step that memory allows, however requests come together. A
// real engine is slower, so that what these bounds rule out cannot be, as far as prices are
// monotone (5 % is left for where they are not). What they leave out: host time, drafts, waiting,
// KV transfers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/planner/plan/replica_bounds.hpp"

namespace foretoken {

struct LoadBounds {
  double units = 0;       // replicas (or sets of pools) that the load takes at least, not rounded
  double attainment = 1;  // share of requests that can meet the SLO at best, however many there are
  double latency_ms = 0;  // of the metric that deployments are ranked by
  std::string too_large = {};  // why the weights cannot fit; "" = they may
};

/// Of one replica of `scenario`, or one of each set of its pools as their replicas say, under the
/// traffic. `latency` names one of figures() of kind time. `load`: times the scenario's, at which
/// bursts are looked at; nullopt: at any, so that means alone count.
LoadBounds load_bounds(const Scenario& scenario, const TrafficSample& traffic,
                       std::string_view latency, const PriceSteps& price,
                       std::optional<double> load);

/// Of several models, each of which has pools and requests of its own: whichever has it worst
/// counts, and the first whose weights cannot fit.
LoadBounds worst_of(const std::vector<LoadBounds>& models);

}  // namespace foretoken

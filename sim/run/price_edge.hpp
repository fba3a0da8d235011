// The scenario as it would be if prices were as far off as they may be: every family of kernels,
// communication and host time by its own held-out error, all of them in one direction. Running it
// shows what queues and batches make of that.
#pragma once

#include "sim/report/step_error.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// Of replicas of one kind: a pool's scenario, or one without pools. Hardware that nobody sells, or
/// at a power cap, was never measured, whatever part it was made from.
PricedBy priced_by(const Scenario& scenario);

enum class PriceEdge { shortest, longest };

/// Every price multiplied by 1 + half the width of its family's interval (interval_confidence), or
/// divided by it. Stretches that the scenario has itself stay.
Scenario at_edge(const Scenario& scenario, PriceEdge edge);

}  // namespace foretoken

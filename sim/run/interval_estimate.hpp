// Intervals of a run's figures from the run itself, at next to no cost: every request's times are
// drawn out to what they would be if prices were as long, or as short, as they may be. To first
// order, with what traffic makes of slower steps: at the same rate of arrivals more requests share
// them. What it cannot see is a system that tips over: [run] intervals = "simulate" runs it.
#pragma once

#include <vector>

#include "sim/report/report.hpp"
#include "sim/run/deployed_pools.hpp"

namespace foretoken {

/// How requests' times grow with the price of steps, as powers of its factor and as queues.
struct TimeGrowth {
  /// Users wait for an answer before they ask again: all dates grow alike.
  bool is_closed = false;
  Seconds origin;     // from which on they do
  double decode = 1;  // exponent of times between tokens, and of waits for a step
  Seconds step;       // waits up to here are for a step to end
  std::vector<Seconds>
      backlog;  // by request: since when its replica had others waiting, if it queued
};

/// `requests` with the dates that prices multiplied by `factor` would give them.
std::vector<RequestRecord> drawn_out(const std::vector<RequestRecord>& requests,
                                     const TimeGrowth& growth, double factor);

/// `report` has all other figures of the run.
Report::Intervals estimate_intervals(const Scenario& scenario, const Timeline& timeline,
                                     const DeployedPools& pools, const Report& report);

}  // namespace foretoken

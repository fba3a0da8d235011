// The figures of a run as a plan carries them: the values of all figures() in their order, and one
// report made of several samples of one traffic.
#pragma once

#include <vector>

#include "sim/planner/outcome.hpp"
#include "sim/report/figures.hpp"

namespace foretoken {

/// Whether a plan's tables and files have it: latencies, rates and shares that plans are judged by.
bool is_planned(const Figure& figure);

/// Share of the requests that met the SLO; of several models, of the one that has it worst.
double attainment_of(const Report& report);
/// Requests that count.
inline double arrived_in(const Report& report) {
  return static_cast<double>(report.requests.arrived);
}

/// Of runs that are samples of one traffic: an outcome that cannot be, if there is one; else the
/// first one's report with the figures of all. Shares count every request alike; rates and most
/// latencies are means, 95th and 99th percentiles those of the worst sample.
RunOutcome merged_outcome(const std::vector<const RunOutcome*>& samples);

}  // namespace foretoken

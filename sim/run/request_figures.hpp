// What a run's requests come to: counts, latencies, throughput and the share that met the SLO.
// Internal to sim/run.
#pragma once

#include <vector>

#include "sim/metrics/distribution.hpp"
#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

LatencyRow in_milliseconds(const Summary& seconds);

/// Adds requests that count, the time they took and their latencies to a report that has none.
/// `requests` are those of `timeline`, or the same with other dates.
void add_request_figures(const Scenario& scenario, const Timeline& timeline,
                         const std::vector<RequestRecord>& requests, Report& report);

}  // namespace foretoken

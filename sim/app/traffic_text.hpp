// What was found out about traffic, for people: `foretoken traffic` and the latencies that stand
// beside the simulated ones.
#pragma once

#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "workloads/requests/observed_traffic.hpp"

namespace foretoken {

/// Requests, rate, lengths and latencies, in lines of at most `width` columns.
std::string traffic_text(const ObservedTraffic& traffic, const std::string& title, int width,
                         bool colour);
Value traffic_value(const ObservedTraffic& traffic);

/// Latencies that were measured, and what the run makes of the same traffic; "" if there are none.
std::string measured_text(const std::vector<MeasuredLatency>& measured, const Report& report,
                          int width, bool colour);
Value measured_value(const std::vector<MeasuredLatency>& measured);

}  // namespace foretoken

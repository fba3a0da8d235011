// Every request of a run as a row of requests.csv. Internal to sim/run.
#pragma once

#include <vector>

#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

/// By the requests' numbers.
std::vector<RequestRow> request_rows(const Timeline& timeline);

}  // namespace foretoken

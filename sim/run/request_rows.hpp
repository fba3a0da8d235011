// Every request of a run as a row of requests.csv. Internal to sim/run.
#pragma once

#include <vector>

#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"
#include "workloads/requests/workload.hpp"

namespace foretoken {

/// By the requests' numbers. `workload` knows tenants and models.
std::vector<RequestRow> request_rows(const Timeline& timeline, const Workload& workload);

}  // namespace foretoken

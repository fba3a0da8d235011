// Every request of a run as a row of requests.csv. Internal to sim/run.
#pragma once

#include <vector>

#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"
#include "workloads/requests/request_classes.hpp"

namespace foretoken {

/// By the requests' numbers. `tenants` by theirs.
std::vector<RequestRow> request_rows(const Timeline& timeline, const std::vector<Tenant>& tenants);

}  // namespace foretoken

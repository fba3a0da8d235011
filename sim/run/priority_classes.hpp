// What became of each class of requests, where there are several. Internal to sim/run.
#pragma once

#include <vector>

#include "sim/metrics/slo.hpp"
#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

/// The classes of the requests that count, most urgent first; none if all are of one.
std::vector<PriorityClass> priority_classes(const Timeline& timeline, const SloTargets& slo);

}  // namespace foretoken

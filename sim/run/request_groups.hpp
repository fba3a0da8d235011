// What became of the requests of each priority, tenant and model, where there are several. Internal
// to sim/run.
#pragma once

#include <string>
#include <vector>

#include "sim/metrics/slo.hpp"
#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"

namespace foretoken {

/// The requests that count, by what `member` says of them, in its order; none if all are of one.
/// `steady` is what rates are over. `names` by the member's values; empty: they are priorities.
std::vector<RequestGroup> request_groups(const Timeline& timeline, const SloTargets& slo,
                                         const Report::Steady& steady, int RequestRecord::*member,
                                         const std::vector<std::string>& names = {});

}  // namespace foretoken

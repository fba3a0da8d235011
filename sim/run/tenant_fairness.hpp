// How fairly tenants were served: Jain's index over what each got of what it could have had. That
// is its part by max-min fairness (Jain, Chiu and Hawe, A Quantitative Measure of Fairness and
// Discrimination, 1984, DEC-TR-301): all that was served is dealt out evenly by weight, nobody gets
// more than it asked for, and what one does not want is the others'. 1 is fair; one of n tenants
// that got everything is 1 / n. Internal to sim/run.
#pragma once

#include <optional>
#include <vector>

#include "sim/metrics/timeline.hpp"
#include "sim/report/report.hpp"
#include "workloads/requests/request_classes.hpp"

namespace foretoken {

/// `total` dealt out among those who ask for `demands`, which add up to at least as much. Weights
/// are above 0.
std::vector<double> max_min_shares(double total, const std::vector<double>& demands,
                                   const std::vector<double>& weights);

/// (sum x)^2 / (n sum x^2); 1 of nothing, or of nothing but zeros.
double jain_index(const std::vector<double>& values);

/// Over the steady state, in tokens: 1 for a prompt's, 2 for one that is generated (as VTC counts
/// them). nullopt: fewer than two tenants asked for anything.
std::optional<double> tenant_fairness(const Timeline& timeline, const std::vector<Tenant>& tenants,
                                      const Report::Steady& steady);

}  // namespace foretoken

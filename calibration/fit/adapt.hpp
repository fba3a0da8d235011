// Learns from a few launches how a GPU differs from what the networks expect of it.
#pragma once

#include "calibration/evaluate/family_rows.hpp"
#include "kernels/adaptation.hpp"

namespace foretoken {

/// Kernel ridge regression on log(measured / predicted) over the features, around the median;
/// length and ridge are those that predict each launch best from the others. Needs at least two
/// rows.
FamilyAdaptation fit_adaptation(const FamilyTable& table, const Rows& rows,
                                const Artifact& artifact);

/// Seconds, as the synperf predictor would say with the adaptation.
double adapted_time(const FamilyTable& table, std::size_t row, const Artifact& artifact,
                    const FamilyAdaptation& adaptation);

}  // namespace foretoken

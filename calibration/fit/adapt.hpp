// Learns from a few launches how a GPU differs from what the networks expect of it.
#pragma once

#include "calibration/evaluate/family_rows.hpp"
#include "kernels/networks/adaptation.hpp"

namespace foretoken {

/// Fewer launches of a family than this say more about noise than about the GPU.
inline constexpr std::size_t launches_min = 5;

/// A Gaussian process on log(measured / predicted): one offset, and what varies over the networks'
/// state and inputs; amplitudes, length and noise are the most probable ones, outliers weigh less
/// (Student's t). Where the launches, each predicted from the others, come out no better than the
/// networks alone, the correction is none. Needs at least two rows.
FamilyAdaptation fit_adaptation(const FamilyTable& table, const Rows& rows,
                                const Artifact& artifact);

/// Seconds, as the synperf predictor would say with the adaptation.
double adapted_time(const FamilyTable& table, std::size_t row, const Artifact& artifact,
                    const FamilyAdaptation& adaptation);

}  // namespace foretoken

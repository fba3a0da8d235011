// NeuSight (a baseline) as estimator families: a kernel is waves of equal tiles, its time the roof
// over a utilisation that a small network learned from the tile and the GPU. It is given what it
// would have to guess otherwise, the exact tiles of our decomposers. It knows no framework, L2
// reuse or fixed cost of a launch, and takes a kernel of several launches for the largest of them.
#pragma once

#include "kernels/estimators/estimator.hpp"
#include "sim/base/embedded.hpp"

namespace foretoken {

/// What `family` covers, seen as NeuSight does. T is the roof, max(operations / peak, compulsory
/// bytes / DRAM bandwidth), over the share of SM slots that its waves fill; features are log2 of
/// the mean tile's time at an SM's share of the peak (us), the same of the bandwidth (us), the
/// bytes of all waves over an SM's share of memory and of the L2, and the waves. Both throw
/// PredictionError for a kernel without decomposer. `family` is one of estimator_families().
const EstimatorFamily& neusight_family(const EstimatorFamily& family);

/// The trained networks inside the program, calibration/artifacts/baselines/neusight/*.json.
std::span<const EmbeddedFile> embedded_neusight();

}  // namespace foretoken

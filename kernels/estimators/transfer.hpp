// What other numbers of a GPU do to a kernel's time, for parts that nobody measured: the family's
// first-order time at the other part's rates and SMs, times what its room for tasks does
// (kernels/tasks/hardware_ratio.hpp). First-order times are right to some 10 % on GPUs left out,
// and fall as rates rise; over the number of SMs, on which tiles and splits depend, they do not,
// so that the lowest on as many SMs or fewer is taken: a launch may leave SMs idle. No number that
// improves makes a ratio rise, by construction, and it is a product of ratios, each of which knows
// one part alone: two variants of a part compare as they should whatever else they differ in.
// What it leaves out: that a library would cut the work another way on the other part.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/estimators/estimator.hpp"

namespace foretoken {

/// Time on `gpu` over time on `known`; 1 where no number differs that matters to the kernel. The
/// parts are of one vendor and generation. Throws PredictionError where first_order does.
double transfer_ratio(const EstimatorFamily& family, const Kernel& kernel, const GpuSpec& known,
                      const GpuSpec& gpu);

/// What `price` says of `kernel` on each of `kin` (hardware/known_part.hpp), times
/// transfer_ratio(): the geometric mean of those that run it by the same family in the same format.
/// The bound and the expected error are those of the first. nullopt: none of them does.
std::optional<Prediction> transferred(const EstimatorFamily& family, const Kernel& kernel,
                                      const std::vector<const GpuSpec*>& kin, const GpuSpec& gpu,
                                      const std::function<Prediction(const GpuSpec&)>& price);

}  // namespace foretoken

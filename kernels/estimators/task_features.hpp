// What a network is told of SynPerf's pipeline: the kernel's tasks (decomposition.hpp), placed on
// SMs (sm_scheduler.hpp) and summed by pipe (Table IV, features.hpp), as shares of T, so that they
// mean the same on any GPU. Internal to the estimator families.
#pragma once

#include "kernels/estimators/estimator.hpp"

namespace foretoken {

/// `names` and those of what write_task_features() adds.
std::vector<std::string> with_task_names(std::vector<std::string> names);

/// `first_order`: the kernel's T, not 0. Throws PredictionError for a source without decomposer.
void write_task_features(const Kernel& kernel, const GpuSpec& gpu, Seconds first_order,
                         FeatureSink& out);

}  // namespace foretoken

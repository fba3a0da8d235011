// An Explanation as a JSON object: what `foretoken predict --explain` adds to each answer.
#pragma once

#include "kernels/tasks/explain.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// {framework, kernel_source, approximation?, tile?: {sizes, split_k, origin, by}, launches:
/// [{name, tasks, ctas, waves, resident_ctas, worst_sm_tasks, bytes_loaded, cycles: {tensor, fma,
/// xu, l2, shared}, bound_by}]}; cycles are those of the busiest SM.
Value explanation_value(const Explanation& explanation);

}  // namespace foretoken

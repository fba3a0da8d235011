// What the time of one step went to, as one of its requests sees it, or one that waits for it.
// Internal to sim/run.
#pragma once

#include "sim/report/latency_split.hpp"
#include "sim/serving/step_observer.hpp"

namespace foretoken {

struct StepSplit {
  LatencyParts parts;  // add up to the step's time
  std::vector<BoundTime> kernels;
};

/// `own` is the request's part of the batch, null for one that the step does not work on; its
/// computation counts as `own_cause`. Prices the step's kernels again, up to three times: for the
/// few steps of a request that is looked at.
StepSplit split_step(const StageStep& step, const BatchEntry* own, LatencyCause own_cause);

}  // namespace foretoken

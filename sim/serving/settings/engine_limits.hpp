// How much an engine takes into a step: the keys of [engine] that every scheduler and the memory
// plan go by.
#pragma once

#include "sim/base/keys.hpp"

namespace foretoken {

struct SchedulerLimits {
  std::int64_t batch_tokens_max = 8192;  // new tokens a step
  int sequences_max = 256;               // sequences running
  std::int64_t adapters_max = 0;         // of the sequences running (LoraSettings'); 0 = any
};

const Keys<SchedulerLimits>& scheduler_limit_keys();

}  // namespace foretoken

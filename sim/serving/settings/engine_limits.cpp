#include "sim/serving/settings/engine_limits.hpp"

namespace foretoken {

const Keys<SchedulerLimits>& scheduler_limit_keys() {
  using S = SchedulerLimits;
  static const Keys<S> keys = {
      {"batch_tokens_max",
       &S::batch_tokens_max,
       {.range = at_least(1), .unit = "tokens"},
       "New tokens that one step may process, prompt and output together (vLLM's "
       "max_num_batched_tokens). Smaller steps keep TPOT even, larger ones compute prompts "
       "faster."},
      {"sequences_max",
       &S::sequences_max,
       {.range = count(), .unit = "sequences"},
       "Sequences that may run at once (vLLM's max_num_seqs); the others queue. More of them raise "
       "throughput and TPOT, as long as the KV cache holds them."},
  };
  return keys;
}

}  // namespace foretoken

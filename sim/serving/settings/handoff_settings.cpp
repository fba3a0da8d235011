#include "sim/serving/settings/handoff_settings.hpp"

namespace foretoken {

const Keys<HandoffSettings>& handoff_keys() {
  using S = HandoffSettings;
  static const Keys<S> keys = {
      {"kv_transfer",
       &S::kv_transfer,
       {},
       "When the KV cache of a prompt travels to the decode pool: after_prefill sends it once the "
       "prompt is computed (vLLM's NixlConnector), layer_wise sends each layer while the next ones "
       "are computed (Mooncake, Splitwise) and hides most of the transfer."},
      {"first_token",
       &S::first_token,
       {},
       "Which pool streams the first token: the prefill replica as soon as it is sampled, or the "
       "decode replica once the KV cache has arrived, which adds the transfer to TTFT."},
      {"retry",
       &S::retry,
       {.quiet = true},
       "What is repeated when a decode replica fails while a request waits there for its KV cache: "
       "whole, the prompt too; failed_side, only its own part: the prefill replica keeps the "
       "prompt's KV cache and sends it to another decode replica. After the KV cache has arrived, "
       "a failure always repeats the whole request; for a failed prefill replica see "
       "kv_load_failure."},
      {"kv_load_failure",
       &S::kv_load_failure,
       {.quiet = true},
       "What is done when a prefill replica fails while a decode replica waits for a request's KV "
       "cache (vLLM's kv_load_failure_policy): fail, the whole request is retried; recompute, the "
       "decode replica frees the blocks that it reserved and computes the prompt itself, along "
       "with its decodes."},
      {"local_prefill_max",
       &S::local_prefill_max,
       {.range = at_least(0), .unit = "tokens"},
       "Prompts up to this long are computed by the decode replica itself, along with its decodes: "
       "no transfer, and no wait for the prefill pool (conditional disaggregation in Dynamo, the "
       "prefill decider of llm-d). 0: none."},
  };
  return keys;
}

}  // namespace foretoken

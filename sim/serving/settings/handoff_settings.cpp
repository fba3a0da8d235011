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
       "Which pool streams the first token: the prefill replica as soon as it is drawn, or the "
       "decode replica once the KV cache has arrived, which adds the transfer to TTFT."},
      {"retry",
       &S::retry,
       {.quiet = true},
       "What is done again when a decode replica fails while a request waits there for its KV "
       "cache: whole, the prompt too; failed_side, its own part alone: the prefill replica keeps "
       "the prompt's KV cache and sends it to another decode replica. A failure of the prefill "
       "replica, or after the KV cache has come, costs all of the request either way."},
      {"local_prefill_max",
       &S::local_prefill_max,
       {.range = at_least(0), .unit = "tokens"},
       "Prompts up to this long are computed by the decode replica itself, beside its decodes: no "
       "transfer, and no wait for the prefill pool (conditional disaggregation in Dynamo, the "
       "prefill decider of llm-d). 0: none."},
  };
  return keys;
}

}  // namespace foretoken

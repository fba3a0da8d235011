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
  };
  return keys;
}

}  // namespace foretoken

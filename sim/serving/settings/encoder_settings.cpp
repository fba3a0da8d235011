#include "sim/serving/settings/encoder_settings.hpp"

namespace foretoken {

const Keys<EncoderSettings>& encoder_keys() {
  using S = EncoderSettings;
  static const Keys<S> keys = {
      {"parallel",
       &S::parallel,
       {},
       "How tensor-parallel ranks share the encoder (vLLM's --mm-encoder-tp-mode): weights, each "
       "has a part of every layer and results are added up twice a layer; data, each has all of it "
       "and encodes some of the images."},
      {"step_tokens",
       &S::step_tokens,
       {.range = at_least(0, "must be at least 1 (or 0: batch_tokens_max)"),
        .unit = "tokens",
        .fallback = "0 (batch_tokens_max)"},
       "Tokens of images and audio that one step encodes at most (vLLM's "
       "max_num_encoder_input_tokens), and "
       "no fewer than the model's largest image has. The schedulers sglang and tensorrt_llm encode "
       "all of a request's images with its first piece: there it only says how much memory is kept "
       "for it."},
      {"cache_tokens",
       &S::cache_tokens,
       {.range = at_least(0, "must be at least 1 (or 0: batch_tokens_max)"),
        .unit = "tokens",
        .fallback = "0 (batch_tokens_max; with framework sglang what 100 MiB hold)"},
       "Tokens of encoded images and audio that are kept on the GPU (vLLM's encoder_cache_size), "
       "and no "
       "fewer than the model's largest image has. An image is held from the step that encodes it "
       "until its tokens are computed, and longer while nobody needs the room: the same image is "
       "then not encoded again. Scheduler sglang (SGLANG_VLM_CACHE_SIZE_MB) finds only requests "
       "with all the same images, and encodes again, for each piece of a prompt, what never had "
       "room; with tensorrt_llm nobody finds another request's."},
  };
  return keys;
}

}  // namespace foretoken

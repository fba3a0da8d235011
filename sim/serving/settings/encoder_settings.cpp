#include "sim/serving/settings/encoder_settings.hpp"

namespace foretoken {

const Keys<EncoderSettings>& encoder_keys() {
  using S = EncoderSettings;
  static const Keys<S> keys = {
      {"parallel",
       &S::parallel,
       {},
       "How tensor-parallel ranks share the encoder (vLLM's --mm-encoder-tp-mode): weights, each "
       "has part of every layer and results are summed twice per layer; data, each has all of it "
       "and encodes some of the images."},
      {"step_tokens",
       &S::step_tokens,
       {.range = at_least(0, "must be at least 1 (or 0: batch_tokens_max)"),
        .unit = "tokens",
        .fallback = "0 (batch_tokens_max)"},
       "Most tokens of images and audio that one step encodes (vLLM's "
       "max_num_encoder_input_tokens), but at least those of the model's largest image. Schedulers "
       "sglang and tensorrt_llm encode all of a request's images with its first chunk: there it "
       "only sets how much memory is reserved."},
      {"cache_tokens",
       &S::cache_tokens,
       {.range = at_least(0, "must be at least 1 (or 0: batch_tokens_max)"),
        .unit = "tokens",
        .fallback = "0 (batch_tokens_max; with framework sglang what 100 MiB hold)"},
       "Tokens of encoded images and audio that are kept on the GPU (vLLM's encoder_cache_size), "
       "but at least those of the model's largest image. An image is held from the step that "
       "encodes it until its tokens are computed, and longer while the room is not needed: the "
       "same image is then not encoded again. Scheduler sglang (SGLANG_VLM_CACHE_SIZE_MB) matches "
       "only requests with all the same images, and encodes again, for each chunk of a prompt, "
       "what never had room; tensorrt_llm does not reuse another request's."},
  };
  return keys;
}

}  // namespace foretoken

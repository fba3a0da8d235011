#include "sim/serving/encoder_memory.hpp"

#include <algorithm>

namespace foretoken {

double encoder_values(const VisionEncoder& vision, const ParallelLayout& layout,
                      const EncoderSettings& limits) {
  const double ranks = layout.encoder_by_data ? 1.0 : layout.tensor;
  const double attention = 4.0 * static_cast<double>(vision.attention_width()) / ranks;
  const double mlp =
      (vision.gated_mlp ? 3.0 : 2.0) * static_cast<double>(vision.intermediate) / ranks;
  const double patches = static_cast<double>(limits.step_tokens) * vision.merge * vision.merge;
  return patches * (2.0 * static_cast<double>(vision.hidden) + std::max(attention, mlp));
}

Bytes encoder_cache_bytes(const Transformer& model, const ExecutionSettings& execution,
                          const EncoderSettings& limits) {
  if (limits.cache_tokens == 0) return Bytes(0.0);
  return Bytes(static_cast<double>(limits.cache_tokens) *
               static_cast<double>(model.vision->values_per_token()) *
               bytes_per_element(activation_dtype(execution.dtype)));
}

}  // namespace foretoken

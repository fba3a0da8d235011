#include "sim/serving/encoder_memory.hpp"

#include <algorithm>

namespace foretoken {

namespace {

double values_of(const MediaEncoder& encoder, const ParallelLayout& layout,
                 const EncoderSettings& limits) {
  const double ranks = layout.encoder_by_data ? 1.0 : layout.tensor;
  const double attention = 4.0 * static_cast<double>(encoder.attention_width()) / ranks;
  const double mlp =
      (encoder.gated_mlp ? 3.0 : 2.0) * static_cast<double>(encoder.intermediate) / ranks;
  const double patches =
      static_cast<double>(limits.step_tokens) * static_cast<double>(encoder.patches_per_token());
  return patches * (2.0 * static_cast<double>(encoder.hidden) + std::max(attention, mlp));
}

}  // namespace

/// Encoders run one behind the other.
double encoder_values(const Transformer& model, const ParallelLayout& layout,
                      const EncoderSettings& limits) {
  double most = 0;
  for (const Medium medium : all_media) {
    if (model.encoder(medium))
      most = std::max(most, values_of(*model.encoder(medium), layout, limits));
  }
  return most;
}

std::int64_t values_per_media_token(const Transformer& model) {
  std::int64_t most = 0;
  for (const Medium medium : all_media) {
    if (model.encoder(medium)) most = std::max(most, model.encoder(medium)->values_per_token());
  }
  return most;
}

Bytes encoder_cache_bytes(const Transformer& model, const ExecutionSettings& execution,
                          const EncoderSettings& limits) {
  if (limits.cache_tokens == 0) return Bytes(0.0);
  return Bytes(static_cast<double>(limits.cache_tokens) *
               static_cast<double>(values_per_media_token(model)) *
               bytes_per_element(activation_dtype(execution.dtype)));
}

}  // namespace foretoken

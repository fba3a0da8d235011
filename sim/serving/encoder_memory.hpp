// What encoding images and audio takes of a GPU's memory beside the encoders' weights.
#pragma once

#include "models/parallel_layout.hpp"
#include "sim/serving/settings/encoder_settings.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// Values that live at once while a step's images or clips are encoded: hidden state and residual,
/// and what goes through attention or an MLP. As many patches as `step_tokens` tokens are made of.
double encoder_values(const Transformer& model, const ParallelLayout& layout,
                      const EncoderSettings& limits);

/// Values that a token of an image or clip has in the cache: where a model takes both, the more.
std::int64_t values_per_media_token(const Transformer& model);

/// Of the tokens that are kept, on every rank.
Bytes encoder_cache_bytes(const Transformer& model, const ExecutionSettings& execution,
                          const EncoderSettings& limits);

}  // namespace foretoken

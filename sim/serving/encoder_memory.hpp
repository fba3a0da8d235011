// What encoding images takes of a GPU's memory beside the encoder's weights. Internal to this room.
#pragma once

#include "models/parallel_layout.hpp"
#include "sim/serving/settings/encoder_settings.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

/// Values that live at once while a step's images are encoded: hidden state and residual, and what
/// goes through attention or an MLP. As many patches as `step_tokens` tokens are made of.
double encoder_values(const VisionEncoder& vision, const ParallelLayout& layout,
                      const EncoderSettings& limits);

/// Of the tokens that are kept, on every rank.
Bytes encoder_cache_bytes(const Transformer& model, const ExecutionSettings& execution,
                          const EncoderSettings& limits);

}  // namespace foretoken

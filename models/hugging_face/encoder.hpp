// Encoders of images beside a language model: their parameters, from "vision_config". What they
// compute is not modelled. Internal to this room.
#pragma once

#include "models/hugging_face/architecture.hpp"

namespace foretoken {

/// A tower of transformer blocks behind a patch embedding, and what projects its output to the
/// language model's width.
struct VisionTower {
  std::int64_t layers = 0, hidden = 0, intermediate = 0;
  std::int64_t patch_values = 0;  // of one patch, over all channels (and frames)
  std::int64_t positions = 0;     // learned position embeddings
  bool gated_mlp = false, biases = true;
  std::int64_t projector = 0;  // parameters

  [[nodiscard]] std::int64_t parameters() const;
};

/// Qwen's, Kimi's and Gemma's fields, whichever the file's "vision_config" has. Sets the model's
/// encoder_parameters and says in left_out that its work is not simulated. A config without tower
/// says nothing: text is all it was published for.
void read_vision_tower(ConfigReader& config);

}  // namespace foretoken

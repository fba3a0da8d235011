// Encoders of images beside a language model, from "vision_config". Internal to this room.
#pragma once

#include "models/hugging_face/architecture.hpp"

namespace foretoken {

/// Qwen's, Kimi's, Gemma's, Llama's and Pixtral's fields, whichever the file's "vision_config" has.
/// Sets the model's `vision`, or its encoder_parameters where too little is known for that, and
/// says in left_out what of it is not simulated. A config without tower says nothing: text is all
/// it was published for.
void read_vision_tower(ConfigReader& config);

}  // namespace foretoken

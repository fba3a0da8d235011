// Encoders of images and audio beside a language model. Internal to this room.
#pragma once

#include "models/hugging_face/architecture.hpp"

namespace foretoken {

/// Qwen's, Kimi's, Gemma's, Llama's and Pixtral's fields, whichever the file's "vision_config" has.
/// Sets the model's `vision`, or its encoder_parameters where too little is known for that, and
/// says in left_out what of it is not simulated. A config without tower says nothing: text is all
/// it was published for.
void read_vision_tower(ConfigReader& config);

/// The same of audio: the "audio_config" of Qwen2-Audio, Qwen2.5-Omni, Qwen3-Omni, Voxtral and
/// Gemma 4, by its "model_type"; `family` is what it is where it has none.
void read_audio_tower(ConfigReader& config, std::string_view family);

}  // namespace foretoken

// What a server calls its model and its GPU, and what they are called here.
#pragma once

#include <string>

#include "sim/base/error.hpp"

namespace foretoken {

/// The built-in model that a Hugging Face id names: "meta-llama/Llama-3.1-8B-Instruct" is
/// "llama-3.1-8b". Fine-tunes and formats of one architecture (…-Instruct, …-FP8) are that model.
/// Throws ConfigError at `asked_at` for one that is none.
std::string model_called(const std::string& hugging_face_id, const SourcePosition& asked_at);

/// The built-in GPU that a driver's device name means: "NVIDIA H100 80GB HBM3" is "h100-sxm".
/// Throws ConfigError at `asked_at` if there is none, or several.
std::string gpu_called(const std::string& device_name, const SourcePosition& asked_at);

/// The cluster with room for so many GPUs that a table's word for a system means: "h100_sxm" with
/// 16 is "h100-sxm-8x2", in nodes of the GPU's usual chassis. Throws as gpu_called().
std::string cluster_called(std::string system, int gpus, const SourcePosition& asked_at);

}  // namespace foretoken

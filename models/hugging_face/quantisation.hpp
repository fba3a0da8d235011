// The formats that a checkpoint's weights were published in: "quantization_config" of config.json,
// or ModelOpt's hf_quant_config.json beside it. Internal to this room.
#pragma once

#include "models/hugging_face/architecture.hpp"

namespace foretoken {

/// Sets model.released from `block`, the quantization_config of the file or of its text_config (or
/// nullptr). A method, a bit width or an override that is not understood is a mistake that names
/// it: weights in another format than the file's would be a wrong answer.
void read_quantisation(const Value* block, std::string_view architecture, Diagnostics& diagnostics,
                       Transformer& model);

}  // namespace foretoken

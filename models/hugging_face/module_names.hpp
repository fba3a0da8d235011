// Modules of a checkpoint by name, as quantisation blocks list them: whether a pattern means the
// attention, MLP or experts of a layer. Internal to this room.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/operator.hpp"

namespace foretoken {

/// The parts of a layer whose format a block can say. compressed_attention: DeepSeek-V4's.
enum class QuantisedPart { attention, compressed_attention, mlp, shared_experts, experts };

/// Whether `pattern` covers that part of layer `layer`. Patterns are compressed-tensors' regular
/// expressions ("re:.*self_attn.*"), ModelOpt's globs ("model.layers.0*"), or names, which stand
/// for the module and all below it wherever they end at a dot ("self_attn", "model.layers.0").
/// `is_valid` is set to false for an expression that cannot be read.
bool covers(std::string_view pattern, QuantisedPart part, int layer, bool& is_valid);

}  // namespace foretoken

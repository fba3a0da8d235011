// What a published model's experts are beyond their sizes, for tables and kernel cases that give
// sizes alone.
#pragma once

#include "kernels/kernel.hpp"

namespace foretoken {

/// Whether experts of these sizes (intermediate, experts, topk) have no gate in the model that has
/// them: NVIDIA's Nemotron 3 Nano, Super and Ultra (config.json, mlp_hidden_act = "relu2").
bool are_published_without_gate(const FusedMoe& experts);

}  // namespace foretoken

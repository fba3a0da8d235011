// One transformer layer (or the parts before and after the layers) as a directed acyclic graph of
// operators with kinds and unsharded shapes. Parameters and KV bytes are counted from it, and the
// workload generator walks it, so that what is counted is what is priced.
#pragma once

#include <vector>

#include "models/operator.hpp"

namespace foretoken {

/// Its operators in launch order: each stands behind those whose results it reads (GraphBuilder
/// sees to that). Nobody asks for the edges, so they are not kept.
using OperatorGraph = std::vector<Operator>;

/// The graph of layer `layer`.
OperatorGraph layer_graph(const Transformer& model, int layer);
/// Embedding (before layer 0).
OperatorGraph input_graph(const Transformer& model);
/// Final norm, LM head, sampling (after the last layer).
OperatorGraph output_graph(const Transformer& model);

}  // namespace foretoken

// One transformer layer (or the parts before and after the layers) as a directed acyclic graph of
// operators with kinds and unsharded shapes. Parameters and KV bytes are counted from it, and the
// workload generator walks it, so that what is counted is what is priced.
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <vector>

#include "models/operator.hpp"

namespace foretoken {

using OperatorGraph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Operator>;

/// The graph of layer `layer`.
OperatorGraph layer_graph(const Transformer& model, int layer);
/// Embedding (before layer 0).
OperatorGraph input_graph(const Transformer& model);
/// Final norm, LM head, sampling (after the last layer).
OperatorGraph output_graph(const Transformer& model);

/// Operators in launch order: topological, and in the order of insertion where edges leave a
/// choice.
std::vector<Operator> launch_order(const OperatorGraph& graph);

}  // namespace foretoken

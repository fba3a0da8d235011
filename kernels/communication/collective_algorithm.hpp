// The contract of a collective algorithm: which operations it performs on which groups, and what
// that costs, as phases of traffic. Pure functions of plain structs; the variants are in
// algorithms/, listed in its catalog.cpp in order of preference among equals.
#pragma once

#include <optional>
#include <span>

#include "kernels/communication/collective_cost.hpp"
#include "kernels/communication/engine_all_reduce.hpp"

namespace foretoken {

struct CollectiveAlgorithm {
  std::string_view name;  // as a scenario spells it
  bool is_nccl = true;    // NCCL's tuner may choose it; else only by name or as a framework does
  /// Whether it performs `op` on a group with these links and protocols (of two ranks or more).
  bool (*serves)(CollectiveOp op, const GroupLinks& links, const CommParameters& parameters);
  /// The cheapest of its protocols. Only where it serves.
  CollectiveCost (*cost)(const CollectiveCall& call, const GroupLinks& links,
                         const CommParameters& parameters);
};

std::span<const CollectiveAlgorithm> collective_algorithms();

/// What an engine's kernel costs; nullopt where it does not serve the group.
std::optional<CollectiveCost> cost_by(const AllReduceKernel& kernel, const CollectiveCall& call,
                                      const GroupLinks& links, const CommParameters& parameters);

}  // namespace foretoken

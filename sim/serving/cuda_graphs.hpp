// The steps for which an engine has captured a CUDA graph: one for each of a list of token counts.
// A step with fewer tokens replays the next larger graph, so the GPU computes the padding too; one
// with more is launched kernel by kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/generator.hpp"

namespace foretoken {

struct CudaGraphs {
  std::vector<int> sizes;  // tokens, ascending; empty = nothing is captured
  /// Steps with prefill replay graphs as well (in pieces, between which attention is launched).
  bool with_prefill = false;

  /// Tokens of the graph that a step replays; 0 = none: it is launched kernel by kernel.
  [[nodiscard]] std::int64_t replayed(const BatchShape& batch) const;
};

}  // namespace foretoken

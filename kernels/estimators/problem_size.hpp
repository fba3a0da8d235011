// How large the problem of a kernel is, and the same kernel with a problem of another size: what
// prices of larger and smaller problems are compared by (larger_problems.hpp). What is left of the
// kernel, its layer, is all that does not come from the batch.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/kernel.hpp"

namespace foretoken {

inline constexpr int size_axes_max = 3;

/// Sizes that grow each on its own, 1 or more. Rows: tokens or rows of logits. Recurrences:
/// sequences, and of prompts the tokens of each. Attention: sequences, and of decodes the context
/// of each, of prompts its queries and its cached context (1 + 64ths of tokens); of unequal
/// sequences the mean.
struct ProblemSize {
  std::size_t axes = 0;  // 0: one product, batches of prompts beside decodes, collectives
  std::array<double, size_axes_max> sizes = {1, 1, 1};
  bool is_whole = false;  // kernels of these sizes have one problem, whatever their sequences
};

ProblemSize problem_size(const Kernel& kernel);

/// `kernel` with so large a problem, of equal sequences; its own axes (checked).
Kernel with_size(const Kernel& kernel, const ProblemSize& size);

}  // namespace foretoken

// A batch in two halves for two-batch overlap, as SGLang splits it: decoding sequences by number,
// prompts by tokens (a single prompt is cut into two chunks).
#pragma once

#include <utility>

#include "workloads/generator.hpp"

namespace foretoken {

/// Together the halves have all tokens, sequences and logit rows of `batch`, but that a prompt that
/// is cut counts in both. The first is the larger one; the second of a batch of one token is empty
/// (tokens = 0).
std::pair<BatchShape, BatchShape> split_in_half(const BatchShape& batch);

}  // namespace foretoken

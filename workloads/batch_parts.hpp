// A batch in parts that overlap, as SGLang splits it in two: decoding sequences by number, prompts
// by tokens (a prompt at a border is cut into chunks).
#pragma once

#include <span>
#include <vector>

#include "workloads/generator.hpp"

namespace foretoken {

/// Together the `count` parts have all tokens, sequences and logit rows of `batch`, but that a
/// prompt that is cut counts in each. Earlier ones are larger; of a batch with fewer tokens than
/// `count` the last are empty (tokens = 0).
std::vector<BatchShape> split_batch(const BatchShape& batch, int count);

/// The same of each attention rank's batch: part by part, those of all ranks. Parts that no rank
/// has tokens in are left out.
std::vector<std::vector<BatchShape>> split_ranks(std::span<const BatchShape> ranks, int count);

}  // namespace foretoken

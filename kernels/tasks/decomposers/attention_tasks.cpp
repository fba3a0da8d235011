// Pieces of attention decompositions: sequences as runs, what a query tile sees, and what a tile
// costs. Counting is at tile granularity because that is what the tensor cores execute.
#include <algorithm>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

void append_run(SliceRuns& runs, const SequenceSlice& slice, std::int64_t count) {
  if (count <= 0 || slice.query_tokens <= 0) return;
  if (!runs.empty() && runs.back().slice == slice) {
    runs.back().count += count;
  } else {
    runs.push_back({slice, count});
  }
}

/// n sequences whose lengths differ by one token at most; the longer ones come first.
void append_equal(SliceRuns& runs, const LoadSums& sums) {
  if (sums.sequences == 0) return;
  const std::int64_t n = sums.sequences;
  const SequenceSlice base{sums.query_tokens / n, sums.context_tokens / n};
  const std::int64_t longer_queries = sums.query_tokens % n;
  const std::int64_t longer_contexts = sums.context_tokens % n;
  std::int64_t placed = 0;
  while (placed < n) {
    const std::int64_t more_queries = placed < longer_queries ? 1 : 0;
    const std::int64_t more_context = placed < longer_contexts ? 1 : 0;
    std::int64_t end = n;
    if (more_queries > 0) end = std::min(end, longer_queries);
    if (more_context > 0) end = std::min(end, longer_contexts);
    append_run(runs, {base.query_tokens + more_queries, base.context_tokens + more_context},
               end - placed);
    placed = end;
  }
}

}  // namespace

SliceRuns slice_runs(const AttentionLoad& load, LoadPart part) {
  SliceRuns runs;
  if (load.sequences.empty()) {
    if (part != LoadPart::decode) append_equal(runs, load.prefill);
    if (part != LoadPart::prefill) append_equal(runs, load.decode);
    return runs;
  }
  runs.reserve(load.sequences.size());
  for (const SequenceSlice& slice : load.sequences) {
    if (part == LoadPart::all || (part == LoadPart::decode) == load.is_decode(slice)) {
      append_run(runs, slice, 1);
    }
  }
  return runs;
}

DType score_dtype(DType dtype) { return dtype == DType::fp8 ? dtype : activation_dtype(dtype); }

AttentionTile attention_tile(const Attention& kernel, std::int64_t rows, std::int64_t keys_step) {
  const double dim = kernel.head_dim;
  return {.rows = rows,
          .keys_step = keys_step,
          .score_dim = dim,
          .value_dim = dim,
          .query_bytes = dim * bytes_per_element(score_dtype(kernel.dtype)),
          .key_bytes = 2 * dim * bytes_per_element(kernel.kv_dtype)};
}

}  // namespace foretoken

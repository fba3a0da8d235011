#include "workloads/chunked_load.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Calls `visit` with the part of `slice` in each chunk that its queries touch.
template <class Visitor>
void visit_chunks(const SequenceSlice& slice, std::int64_t chunk, const Visitor& visit) {
  for (std::int64_t query = slice.context_tokens - slice.query_tokens;
       query < slice.context_tokens;) {
    const std::int64_t begin = query / chunk * chunk;
    const std::int64_t end = std::min(begin + chunk, slice.context_tokens);
    visit(SequenceSlice{end - query, end - begin});
    query = end;
  }
}

/// All sequences of `sums` as long as their mean.
LoadSums chunked_prompts(const LoadSums& sums, std::int64_t chunk) {
  if (sums.sequences == 0) return {};
  LoadSums mean;
  const SequenceSlice slice{sums.query_tokens / sums.sequences,
                            sums.context_tokens / sums.sequences};
  visit_chunks(slice, chunk, [&](const SequenceSlice& part) { mean.add(part); });
  mean.sequences *= sums.sequences;
  mean.query_tokens = sums.query_tokens;
  mean.context_tokens *= sums.sequences;
  mean.causal_pairs *= static_cast<double>(sums.sequences);
  return mean;
}

LoadSums chunked_decodes(const LoadSums& sums, std::int64_t chunk) {
  if (sums.sequences == 0 || sums.context_tokens_max <= chunk) return sums;
  LoadSums seen = sums;
  const std::int64_t context = sums.context_tokens / sums.sequences;
  const std::int64_t keys = context <= chunk ? context : (chunk + 1) / 2;
  seen.context_tokens = keys * sums.sequences;
  seen.context_tokens_max = chunk;
  seen.causal_pairs = static_cast<double>(keys) * static_cast<double>(sums.query_tokens);
  return seen;
}

}  // namespace

AttentionLoad chunked_load(const AttentionLoad& load, std::int64_t chunk) {
  FORETOKEN_CHECK(chunk > 0, "chunks of {} tokens", chunk);
  AttentionLoad parts;
  if (load.sequences.empty()) {
    parts.prefill = chunked_prompts(load.prefill, chunk);
    parts.decode = chunked_decodes(load.decode, chunk);
    return parts;
  }
  for (const SequenceSlice& slice : load.sequences) {
    visit_chunks(slice, chunk, [&](const SequenceSlice& part) {
      (load.is_decode(part) ? parts.decode : parts.prefill).add(part);
      parts.sequences.push_back(part);
    });
  }
  return parts;
}

}  // namespace foretoken

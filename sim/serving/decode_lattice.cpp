#include "sim/serving/decode_lattice.hpp"

#include <algorithm>
#include <bit>

namespace foretoken {
namespace {

/// Distance of lattice points around `value`, with 2^bits points an octave; at least 1.
std::int64_t lattice_step(std::int64_t value, int bits) {
  const int octave = std::bit_width(static_cast<std::uint64_t>(value)) - 1;
  return octave > bits ? std::int64_t{1} << (octave - bits) : 1;
}

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

AttentionLoad* attention_load_of(Kernel& kernel) {
  if (auto* attention = std::get_if<Attention>(&kernel)) return &attention->load;
  if (auto* mla = std::get_if<Mla>(&kernel)) return &mla->load;
  if (auto* index = std::get_if<KeyIndexer>(&kernel)) return &index->load;
  if (auto* sparse = std::get_if<SparseAttention>(&kernel)) return &sparse->load;
  return nullptr;
}

bool is_decode(const AttentionLoad& load) {
  return load.prefill.sequences == 0 && load.decode.sequences > 0;
}

namespace {

Prediction between(const Prediction& below, const Prediction& above, double share) {
  Prediction price = below;
  price.time += (above.time - below.time) * share;
  return price;
}

/// The batch as it was when its sequences had on average a multiple of the lattice's step in their
/// contexts, and as it will be when they have the next.
Prediction price_list(Kernel& kernel, const AttentionLoad& load, const MemoPredictor& predictor) {
  constexpr int context_bits = 5;
  const std::int64_t mean = load.decode.context_tokens / load.decode.sequences;
  const std::int64_t step = lattice_step(std::max<std::int64_t>(1, mean), context_bits);
  const std::int64_t grown = mean % step;
  AttentionLoad& scratch = *attention_load_of(kernel);
  const auto price_at = [&](std::int64_t growth) {
    scratch.prefill = scratch.decode = {};
    scratch.sequences.clear();
    for (const SequenceSlice& slice : load.sequences) {
      // No sequence is shorter than its queries.
      const SequenceSlice moved{slice.query_tokens,
                                std::max(slice.query_tokens, slice.context_tokens + growth)};
      scratch.decode.add(moved);
      scratch.sequences.push_back(moved);
    }
    return predictor.predict(kernel);
  };
  const Prediction below = price_at(-grown);
  // What was shortened: less than `grown` a sequence where some are no longer than their queries.
  const std::int64_t shortened = load.decode.context_tokens - scratch.decode.context_tokens;
  if (shortened == 0) return below;
  const std::int64_t lengthened = load.decode.sequences * (step - grown);
  return between(below, price_at(step - grown),
                 static_cast<double>(shortened) / static_cast<double>(shortened + lengthened));
}

}  // namespace

Prediction price_decode(Kernel& kernel, const AttentionLoad& load, const MemoPredictor& predictor) {
  if (!load.sequences.empty()) return price_list(kernel, load, predictor);
  constexpr int context_bits = 4, longest_bits = 2;
  AttentionLoad& scratch = *attention_load_of(kernel);
  scratch.prefill = {};
  scratch.sequences.clear();
  scratch.decode = load.decode;
  scratch.decode.context_tokens_max = round_up(
      load.decode.context_tokens_max,
      lattice_step(std::max<std::int64_t>(1, load.decode.context_tokens_max), longest_bits));
  // A key more in a sequence is a pair more for each of its queries.
  const double queries =
      static_cast<double>(load.decode.query_tokens) / static_cast<double>(load.decode.sequences);
  const auto price_at = [&](std::int64_t context_tokens) {
    scratch.decode.context_tokens = context_tokens;
    scratch.decode.causal_pairs =
        load.decode.causal_pairs +
        queries * static_cast<double>(context_tokens - load.decode.context_tokens);
    return predictor.predict(kernel);
  };
  const std::int64_t context_tokens = load.decode.context_tokens;
  const std::int64_t step = lattice_step(context_tokens, context_bits);
  const std::int64_t point = context_tokens / step * step;
  // No sequence is shorter than its queries.
  const std::int64_t below =
      load.verifies_drafts() ? std::max(point, load.decode.query_tokens) : point;
  const Prediction price = price_at(below);
  if (below == context_tokens) return price;
  const double share =
      static_cast<double>(context_tokens - below) / static_cast<double>(point + step - below);
  return between(price, price_at(point + step), share);
}

}  // namespace foretoken

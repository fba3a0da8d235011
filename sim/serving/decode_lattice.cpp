#include "sim/serving/decode_lattice.hpp"

#include <algorithm>
#include <bit>

#include "sim/base/mixed_bits.hpp"
#include "sim/serving/kernel_slots.hpp"

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

bool is_decode(const AttentionLoad& load) {
  return load.prefill.sequences == 0 && load.decode.sequences > 0;
}

namespace {

constexpr int list_bits = 5;

Prediction between(const Prediction& below, const Prediction& above, double share) {
  Prediction price = below;
  price.time += (above.time - below.time) * share;
  return price;
}

/// Contexts at the start of the lattice's stretch that a mean context lies in.
std::int64_t stretch_step(std::int64_t mean) {
  return lattice_step(std::max<std::int64_t>(1, mean), list_bits);
}

std::int64_t mean_context(const AttentionLoad& load) {
  return load.decode.context_tokens / load.decode.sequences;
}

}  // namespace

Prediction DecodeLattice::price(Kernel& kernel, const AttentionLoad& load) {
  return load.sequences.empty() ? price_sums(kernel, load) : price_list(kernel, load);
}

Prediction DecodeLattice::price_grown(Kernel& kernel, const AttentionLoad& load,
                                      std::int64_t growth) const {
  AttentionLoad& scratch = *attention_load_of(kernel);
  scratch.prefill = scratch.decode = {};
  scratch.sequences.clear();
  for (const SequenceSlice& slice : load.sequences) {
    // No sequence is shorter than its queries.
    const SequenceSlice moved{slice.query_tokens,
                              std::max(slice.query_tokens, slice.context_tokens + growth)};
    scratch.decode.add(moved);
    scratch.sequences.push_back(moved);
  }
  return predictor_.inner().predict(kernel, predictor_.gpu());
}

DecodeLattice::Name DecodeLattice::name_of(Kernel& kernel, const AttentionLoad& load,
                                           std::int64_t grown) {
  AttentionLoad& scratch = *attention_load_of(kernel);
  scratch.prefill = scratch.decode = {};
  scratch.sequences.clear();
  Name name{kernel_hash(kernel), load.sequences.size()};
  for (const SequenceSlice& slice : load.sequences) {
    const auto context = static_cast<std::uint64_t>(slice.context_tokens - grown);
    const std::uint64_t word = context ^ static_cast<std::uint64_t>(slice.query_tokens) << 40;
    name.key = mixed(name.key ^ word);
    name.check = (std::rotl(name.check, 23) ^ word) * 0xff51afd7ed558ccdU;
  }
  return name;
}

DecodeLattice::Stretch* DecodeLattice::find(const Name& name) {
  const auto found = stretches_.find(name.key);
  const bool is_known = found != stretches_.end() && found->second.check == name.check;
  return is_known ? &found.value() : nullptr;
}

DecodeLattice::Stretch& DecodeLattice::remember(const Name& name, const AttentionLoad& load,
                                                std::int64_t grown, const Prediction& below) {
  constexpr std::size_t stretches_max = std::size_t{1} << 16;  // 13 MB
  if (stretches_.size() >= stretches_max) stretches_.clear();
  Stretch& stretch = stretches_[name.key];
  stretch = {name.check, 0, below, {}};
  for (const SequenceSlice& slice : load.sequences)
    stretch.start_tokens += std::max(slice.query_tokens, slice.context_tokens - grown);
  return stretch;
}

/// The batch as it was when its sequences had on average a multiple of the lattice's step in their
/// contexts, and as it will be when they have the next.
Prediction DecodeLattice::price_list(Kernel& kernel, const AttentionLoad& load) {
  const std::int64_t mean = mean_context(load);
  const std::int64_t step = stretch_step(mean);
  const std::int64_t grown = mean % step;
  const Name name = name_of(kernel, load, grown);
  Stretch* stretch = find(name);
  if (stretch == nullptr) {
    // Where the last stretch ended this one starts.
    const Stretch* const last = find(name_of(kernel, load, grown + stretch_step(mean - grown - 1)));
    const Prediction below =
        last != nullptr && last->above ? *last->above : price_grown(kernel, load, -grown);
    stretch = &remember(name, load, grown, below);
  }
  // What was shortened: less than `grown` a sequence where some are no longer than their queries.
  const std::int64_t shortened = load.decode.context_tokens - stretch->start_tokens;
  if (shortened == 0) return stretch->below;
  if (!stretch->above) stretch->above = price_grown(kernel, load, step - grown);
  const std::int64_t lengthened = load.decode.sequences * (step - grown);
  return between(stretch->below, *stretch->above,
                 static_cast<double>(shortened) / static_cast<double>(shortened + lengthened));
}

Prediction DecodeLattice::price_sums(Kernel& kernel, const AttentionLoad& load) const {
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
    return predictor_.predict(kernel);
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

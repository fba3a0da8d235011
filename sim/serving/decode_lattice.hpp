// Prices of decode attention while contexts grow: every step has another sum of contexts, so a memo
// of exact loads would never hit. Prices are taken on a lattice of context sums, 16 points an
// octave, and interpolated in between; the longest context is rounded up to 4 points an octave. A
// price that is linear in the sum comes out exact; a smooth one within (1/16)^2 / 8 of its
// curvature, 0.05 %. Where every sequence is listed, its plan is made at 32 points an octave of the
// mean context, all sequences as much shorter or longer, and interpolated in between: while a batch
// stays together, one plan serves as many steps as lie between two points, and a step costs one
// walk along the list, to see that it is the same.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <optional>

#include "kernels/memo_predictor.hpp"

namespace foretoken {

/// Whether `load` is one that DecodeLattice prices: decodes only.
[[nodiscard]] bool is_decode(const AttentionLoad& load);

/// Remembers batches that are listed; sums are the predictor's to remember.
class DecodeLattice {
 public:
  /// `predictor` must outlive it.
  explicit DecodeLattice(const MemoPredictor& predictor) : predictor_(predictor) {}

  /// The price of `kernel` (an Attention, Mla …) under `load`, for which is_decode() holds.
  /// `kernel`'s own load is used as scratch.
  [[nodiscard]] Prediction price(Kernel& kernel, const AttentionLoad& load);

 private:
  /// What tells a batch of a kernel from all others: hashes of 128 bits.
  struct Name {
    std::uint64_t key = 0, check = 0;
  };
  /// A batch from one point of the lattice to the next.
  struct Stretch {
    std::uint64_t check = 0;
    std::int64_t start_tokens = 0;  // of contexts at the point, none shorter than its queries
    Prediction below;
    std::optional<Prediction> above;  // where it was needed
  };

  [[nodiscard]] Prediction price_sums(Kernel& kernel, const AttentionLoad& load) const;
  [[nodiscard]] Prediction price_list(Kernel& kernel, const AttentionLoad& load);
  /// The batch with contexts that are `growth` longer.
  [[nodiscard]] Prediction price_grown(Kernel& kernel, const AttentionLoad& load,
                                       std::int64_t growth) const;
  /// Of the batch as it was `grown` tokens a sequence ago, were none bound by its queries.
  [[nodiscard]] static Name name_of(Kernel& kernel, const AttentionLoad& load, std::int64_t grown);
  /// The stretch that began with this batch, or nullptr.
  [[nodiscard]] Stretch* find(const Name& name);
  Stretch& remember(const Name& name, const AttentionLoad& load, std::int64_t grown,
                    const Prediction& below);

  const MemoPredictor& predictor_;
  tsl::robin_map<std::uint64_t, Stretch> stretches_;  // by key
};

}  // namespace foretoken

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

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/memo_predictor.hpp"

namespace foretoken {

/// Whether `load` is one that DecodeLattice prices: decodes only.
[[nodiscard]] bool is_decode(const AttentionLoad& load);

/// The load of a kernel that has one, or nullptr.
AttentionLoad* attention_load_of(Kernel& kernel);

/// Remembers batches that are listed; sums are the predictor's to remember.
class DecodeLattice {
 public:
  /// `predictor` must outlive it.
  explicit DecodeLattice(const MemoPredictor& predictor) : predictor_(predictor) {}

  /// The price of `kernel` (an Attention, Mla …) under `load`, for which is_decode() holds.
  /// `kernel`'s own load is used as scratch.
  [[nodiscard]] Prediction price(Kernel& kernel, const AttentionLoad& load);

 private:
  /// A batch from one point of the lattice to the next.
  struct Stretch {
    std::vector<SequenceSlice> start;  // contexts at the point, were none bound by its queries
    std::int64_t start_tokens = 0;     // of contexts, none shorter than its queries
    Prediction below;
    std::optional<Prediction> above;  // where it was needed
  };

  [[nodiscard]] Prediction price_sums(Kernel& kernel, const AttentionLoad& load) const;
  [[nodiscard]] Prediction price_list(Kernel& kernel, const AttentionLoad& load);
  /// The batch with contexts that are `growth` longer.
  [[nodiscard]] Prediction price_grown(Kernel& kernel, const AttentionLoad& load,
                                       std::int64_t growth) const;
  /// The stretch that began `grown` tokens a sequence ago, or nullptr.
  [[nodiscard]] Stretch* find(Kernel& kernel, const AttentionLoad& load, std::int64_t grown);
  Stretch& remember(Kernel& kernel, const AttentionLoad& load, std::int64_t grown,
                    const Prediction& below);

  const MemoPredictor& predictor_;
  /// By kernel and sums: of two batches that agree in them the last one is kept.
  tsl::robin_map<std::uint64_t, Stretch> stretches_;
  std::size_t slices_ = 0;  // that stretches_ hold
};

}  // namespace foretoken

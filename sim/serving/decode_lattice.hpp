// Prices of decode attention while contexts grow: every step has another sum of contexts, so a memo
// of exact loads would never hit. Prices are taken on a lattice of context sums, 16 points an
// octave, and interpolated in between; the longest context is rounded up to 4 points an octave. A
// price that is linear in the sum comes out exact; a smooth one within (1/16)^2 / 8 of its
// curvature, 0.05 %. Where every sequence is listed, its plan is made at 32 points an octave of the
// mean context, all sequences as much shorter or longer, and interpolated in between: while a batch
// stays together, one plan serves as many steps as lie between two points.
#pragma once

#include "kernels/memo_predictor.hpp"

namespace foretoken {

/// Whether `load` is one that price_decode() prices: decodes only.
[[nodiscard]] bool is_decode(const AttentionLoad& load);

/// The price of `kernel` (an Attention or Mla) under `load`, for which is_decode() holds.
/// `kernel`'s own load is used as scratch.
Prediction price_decode(Kernel& kernel, const AttentionLoad& load, const MemoPredictor& predictor);

/// The load of a kernel that has one, or nullptr.
AttentionLoad* attention_load_of(Kernel& kernel);

}  // namespace foretoken

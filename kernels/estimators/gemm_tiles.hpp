// The output tiles that a library may choose for a matrix product; see TileRule.
// Internal to the gemm families.
#pragma once

#include <array>
#include <span>

#include "kernels/estimators/gemm_model.hpp"

namespace foretoken {

struct GemmTile {
  int m = 0, n = 0;
};

/// One tile a CTA; for scaled_mm the one that its table names, for others the whole menu. The span
/// lives as long as `chosen`.
std::span<const GemmTile> gemm_tiles(TileRule rule, const Gemm& gemm, CopyEngine engine,
                                     std::array<GemmTile, 1>& chosen);

/// Into how many parts K may be cut, ascending, 1 first.
std::span<const int> gemm_splits(TileRule rule);

}  // namespace foretoken

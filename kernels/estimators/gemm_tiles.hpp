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

/// `m` rounded up to the end of its row of tiles: what the launch computes and all that a price may
/// depend on, or it would step inside a row. One rule for training and pricing. Up to 16 rows,
/// which share every tile, powers of two (kernels for few rows); then the tile that scaled_mm's
/// table names, and for a menu its finest step there: 16 rows, from 128 on 32, from 256 on 64
/// (cuBLAS), 64 (DeepGEMM) or 128 (CuTe). Above 4,096 rows no finer than a 64th of the size, so
/// that curves of large products have few steps.
std::int64_t padded_rows(TileRule rule, const Gemm& gemm, CopyEngine engine);

/// `n` or `k` rounded up to whole steps of tiles, 64, as any library computes them; below that to a
/// power of two.
std::int64_t padded_side(std::int64_t side);

/// The sizes of `n` and `k` that prices are compared at, from the one below `side` down: 8 an
/// octave, multiples of 128. 0: there is none.
std::int64_t smaller_side(std::int64_t side);

/// Into how many parts K may be cut, ascending, 1 first.
std::span<const int> gemm_splits(TileRule rule);

}  // namespace foretoken

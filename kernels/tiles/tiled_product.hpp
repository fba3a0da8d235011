// A matrix product and one way to cut it, as the tile models see them: an output tile for each CTA,
// a slice of the depth at a time. No library is meant; `TileConfig` (tile_choice.hpp) is what
// cuBLAS and CUTLASS launch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hardware/dtype.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

/// Which operands are contiguous along the depth. tn: both, as in x W^T with row-major x and W (all
/// products of a language model); nt: neither; nn: the first; tt: the second... as BLAS spells
/// them, first letter A: `t` = transposed for column-major storage = contiguous along the depth.
enum class ProductLayout { tn, nt, nn, tt };
template <>
struct EnumNames<ProductLayout> {
  static constexpr auto names = std::to_array<std::string_view>({"tn", "nt", "nn", "tt"});
};

/// D[m,n] = A[m,k] B[k,n], `batch` times. Sizes at least 1.
struct TiledProduct {
  std::int64_t m = 1, n = 1, k = 1, batch = 1;
  double a_bytes = 2, b_bytes = 2, d_bytes = 2;  // an element; block scales included
  ProductLayout layout = ProductLayout::tn;
  friend bool operator==(const TiledProduct&, const TiledProduct&) = default;
};

/// Both operands in `dtype` (activations are quantised to the weights' format), the result in the
/// format activations are kept in.
TiledProduct tiled_product(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype);
TiledProduct tiled_product(const Gemm& gemm);
TiledProduct tiled_product(const BatchedGemm& gemm);

struct ProductTile {
  int m = 128, n = 128, k = 64;
  int warps = 8;    // wavefronts on AMD parts
  int stages = 2;   // slices of the depth in shared memory
  int group_m = 1;  // rows of tiles that are walked together, column by column (Triton's GROUP_M)
  int split_k = 1;  // parts of the depth, each a CTA of its own
  friend bool operator==(const ProductTile&, const ProductTile&) = default;
};

/// "128x256x64" (an x or a *): three sizes of at least 1, or nothing.
std::optional<std::array<std::int64_t, 3>> parse_sizes(std::string_view text);
std::optional<ProductTile> parse_tile(std::string_view text);
/// "128x256x64".
std::string tile_text(const ProductTile& tile);

/// How many tiles cover the result.
struct TileGrid {
  std::int64_t rows = 1, columns = 1;
  [[nodiscard]] std::int64_t tiles() const { return rows * columns; }
};
TileGrid tile_grid(const TiledProduct& product, const ProductTile& tile);

}  // namespace foretoken

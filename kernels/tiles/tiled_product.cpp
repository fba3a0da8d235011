#include "kernels/tiles/tiled_product.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace foretoken {

TiledProduct tiled_product(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype) {
  const double operand = bytes_per_element(dtype);
  const DType rows = is_weight_only(dtype) ? activation_dtype(dtype) : dtype;
  return {.m = m,
          .n = n,
          .k = k,
          .a_bytes = bytes_per_element(rows),
          .b_bytes = operand,
          .d_bytes = bytes_per_element(activation_dtype(dtype))};
}

TiledProduct tiled_product(const Gemm& gemm) {
  return tiled_product(gemm.m, gemm.n, gemm.k, gemm.dtype);
}

TiledProduct tiled_product(const BatchedGemm& gemm) {
  TiledProduct product = tiled_product(gemm.m, gemm.n, gemm.k, gemm.dtype);
  product.batch = gemm.batch;
  return product;
}

std::optional<std::array<std::int64_t, 3>> parse_sizes(std::string_view text) {
  std::array<std::int64_t, 3> sizes{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) {
      if (at == end || (*at != 'x' && *at != '*')) return std::nullopt;
      ++at;
    }
    const auto [next, error] = std::from_chars(at, end, sizes[i]);
    if (error != std::errc() || sizes[i] < 1) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return sizes;
}

std::optional<ProductTile> parse_tile(std::string_view text) {
  const auto sizes = parse_sizes(text);
  constexpr std::int64_t side_max = 4096;
  if (!sizes || std::ranges::any_of(*sizes, [](std::int64_t side) { return side > side_max; })) {
    return std::nullopt;
  }
  return ProductTile{.m = static_cast<int>((*sizes)[0]),
                     .n = static_cast<int>((*sizes)[1]),
                     .k = static_cast<int>((*sizes)[2])};
}

std::string tile_text(const ProductTile& tile) {
  return fmt::format("{}x{}x{}", tile.m, tile.n, tile.k);
}

TileGrid tile_grid(const TiledProduct& product, const ProductTile& tile) {
  return {(product.m + tile.m - 1) / tile.m, (product.n + tile.n - 1) / tile.n};
}

}  // namespace foretoken

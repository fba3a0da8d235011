#include "sim/app/library_tile.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kernels/tiles/tile_choice.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

double rounds_of(const TiledProduct& product, int tile_m, int tile_n, int split, int units) {
  const auto along = [](auto size, int tile) {
    return std::ceil(static_cast<double>(size) / tile);
  };
  return along(product.m, tile_m) * along(product.n, tile_n) * split / units;
}

/// "1.25 rounds of tiles (2 started, 62 % full)".
std::string filling(double rounds) {
  const double started = std::ceil(rounds);
  return fmt::format("{:.2f} rounds of tiles ({:.0f} started, {:.0f} % full)", rounds, started,
                     100 * rounds / started);
}

}  // namespace

std::optional<LibraryTile> library_tile(const TiledProduct& product, DType dtype,
                                        const ProductTile& chosen, const GpuSpec& gpu) {
  const auto tile =
      profiled_cublas_tile({.m = product.m, .n = product.n, .k = product.k, .dtype = dtype}, gpu);
  if (!tile) return std::nullopt;
  return LibraryTile{tile->m,
                     tile->n,
                     tile->k,
                     tile->stages,
                     tile->split_k,
                     rounds_of(product, tile->m, tile->n, tile->split_k, gpu.sm_count),
                     rounds_of(product, chosen.m, chosen.n, chosen.split_k, gpu.sm_count)};
}

std::string LibraryTile::text() const {
  return fmt::format("cuBLAS takes {}x{}x{}, {} stages, split-K {}: {}\nthe first tile: {}\n", m, n,
                     k, stages, split_k, filling(rounds), filling(chosen_rounds));
}

Value LibraryTile::value() const {
  return ValueObject{{"library", "cublas"},       {"tile", fmt::format("{}x{}x{}", m, n, k)},
                     {"stages", stages},          {"split_k", split_k},
                     {"rounds", rounded(rounds)}, {"chosen_rounds", rounded(chosen_rounds)}};
}

}  // namespace foretoken

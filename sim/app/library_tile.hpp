// What a vendor's library takes for a product, beside what `select --explain` chose: cuBLAS on
// Hopper, as its launches on an H200 showed. Both are told by how they fill the GPU; the library's
// tile has no price here, since it runs other code than the model prices.
#pragma once

#include <optional>
#include <string>

#include "hardware/gpu.hpp"
#include "kernels/tiles/tile_model.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct LibraryTile {
  int m = 0, n = 0, k = 0, stages = 0, split_k = 1;
  /// Tiles over units, of the library's and of the chosen one: 1.25 are two rounds, the second a
  /// quarter full.
  double rounds = 0, chosen_rounds = 0;

  /// Two lines.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Value value() const;
};

/// nullopt where nobody profiled the library.
std::optional<LibraryTile> library_tile(const TiledProduct& product, DType dtype,
                                        const ProductTile& chosen, const GpuSpec& gpu);

}  // namespace foretoken

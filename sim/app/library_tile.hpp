// What a vendor's library takes for a product, beside what `select --explain` chose: cuBLAS on
// Hopper, whose tile its launches on an H200 showed and whose time the default predictor tells.
// What the chosen tile's plain loop lacks to it is the tile model's (TileModel::gaps).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/gpu.hpp"
#include "kernels/tiles/tile_selector.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

struct LibraryTile {
  int m = 0, n = 0, k = 0, stages = 0, split_k = 1;
  /// Tiles over units, of the library's and of the chosen one: 1.25 are two rounds, the second a
  /// quarter full.
  double rounds = 0, chosen_rounds = 0;
  /// Of the product, operands in DRAM: the library's, the chosen tile's.
  Seconds time{}, chosen_time{};
  struct Gap {
    TileGap cost;
    Seconds time;  // the chosen tile's without this cost
  };
  std::vector<Gap> gaps;  // empty where the model tells none

  /// A paragraph and a table; `width` in columns.
  [[nodiscard]] std::string text(int width) const;
  [[nodiscard]] Value value() const;
};

/// nullopt where nobody profiled the library.
std::optional<LibraryTile> library_tile(const TileSelector& selector, const TiledProduct& product,
                                        DType dtype, const TileChoice& chosen, const GpuSpec& gpu);

}  // namespace foretoken

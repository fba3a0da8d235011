// How many CTAs a Stream-K product is started with. Stream-K hands every CTA an equal share of all
// slices of all tiles; a tile that several CTAs worked on is added up afterwards. The policies are
// Origami's (shared/origami, streamk.cpp at 097bca1a), what tritonBLAS does in Python, and one by
// our own price (pipelined_tile.hpp).
#pragma once

#include "kernels/tiles/tile_model.hpp"

namespace foretoken {

enum class GridPolicy {
  data_parallel,         // a CTA a tile
  min_resources,         // no more CTAs than tiles or units
  number_of_cus,         // a CTA a unit
  energy_aware,          // few idle units, and none that is not needed
  reduction_cost_aware,  // least of a linear cost of slices and of partners to add up
  k_split_aware,         // whole fractions of a tile each; Origami's default for Stream-K
  analytical,            // whole splits, the cheapest by the tile model
  tritonblas_python,     // tritonBLAS's own function (origami.py at 95e2c473)
  cheapest               // ours: of these, whole fractions of tiles and of units, the one whose
                         // stream_k_cycles() are fewest
};
template <>
struct EnumNames<GridPolicy> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"data_parallel", "min_resources", "number_of_cus", "energy_aware", "reduction_cost_aware",
       "k_split_aware", "analytical", "tritonblas_python", "cheapest"});
};

/// CTAs to start, at least 1. The Python policy is not what its comments say: it takes back every
/// grid that does not divide the tiles, and so every split of one, except on CDNA 3 parts of 304,
/// 80 and 64 units whose last round would be short.
std::int64_t stream_k_grid(GridPolicy policy, const TileModel& model, const TiledProduct& product,
                           const ProductTile& tile, const TileMachine& machine);

}  // namespace foretoken

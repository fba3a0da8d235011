// How often a tile's operands are found in a cache because other CTAs asked for them too. Formulas
// of the two published generations (tritonBLAS, Algorithm 5; Origami 2026), and the order in
// which CTAs walk the grid of tiles.
#pragma once

#include <cstdint>

#include "kernels/tiles/tile_machine.hpp"

namespace foretoken {

/// Tiles that CTAs of one cache work on at a time: so many rows by so many columns of the grid.
struct CacheTile {
  std::int64_t rows = 1, columns = 1;
};

/// The cache tile of `active` CTAs that walk groups of `group_m` rows (2025's integer arithmetic:
/// columns first, whole groups more where the grid is too narrow).
CacheTile cache_tile(const TileGrid& grid, std::int64_t active, int group_m);

/// Share of a slice's loads that the cache already has (Algorithm 5): those that are not the first
/// of their row or column. `capacity_elements` > 0: rows are given up until a slice of the cache
/// tile fits (Origami's reading of "proportionally reducing").
double hit_rate_2025(const ProductTile& tile, CacheTile cache, double capacity_elements);

/// Positions first … first + count - 1 of a walk in slabs of `width` lanes: down a slab lane by
/// lane (lanes vary fastest), then the next slab. How many distinct steps and lanes they touch.
struct SlabRange {
  std::int64_t steps = 0, lanes = 0, pairs = 0;
};
struct SlabPlace {
  std::int64_t step = 0, lane = 0;
};
SlabPlace slab_place(std::int64_t position, std::int64_t steps, std::int64_t lanes,
                     std::int64_t width);
SlabRange slab_range(std::int64_t first, std::int64_t count, std::int64_t steps, std::int64_t lanes,
                     std::int64_t width);

}  // namespace foretoken

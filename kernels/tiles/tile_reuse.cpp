#include "kernels/tiles/tile_reuse.hpp"

#include <algorithm>

namespace foretoken {

CacheTile cache_tile(const TileGrid& grid, std::int64_t active, int group_m) {
  const std::int64_t group = std::max(group_m, 1);
  std::int64_t rows = std::min(group, grid.rows);
  std::int64_t columns = active / rows;
  if (columns > grid.columns) {
    rows += (columns / grid.columns - 1) * group;
    columns = grid.columns;
  }
  return {std::clamp<std::int64_t>(rows, 1, grid.rows),
          std::clamp<std::int64_t>(columns, 1, grid.columns)};
}

double hit_rate_2025(const ProductTile& tile, CacheTile cache, double capacity_elements) {
  const auto first_loads = [&] {
    return static_cast<double>((cache.rows * tile.m + cache.columns * tile.n) * tile.k);
  };
  while (capacity_elements > 0 && first_loads() > capacity_elements && cache.rows > 1) {
    --cache.rows;
  }
  const auto loads = static_cast<double>(cache.rows * cache.columns * (tile.m + tile.n) * tile.k);
  return (loads - first_loads()) / loads;
}

SlabPlace slab_place(std::int64_t position, std::int64_t steps, std::int64_t lanes,
                     std::int64_t width) {
  const std::int64_t slab = position / (steps * width);
  const std::int64_t within = position - slab * steps * width;
  const std::int64_t here = std::min(width, lanes - slab * width);
  return {within / here, slab * width + within % here};
}

SlabRange slab_range(std::int64_t first, std::int64_t count, std::int64_t steps, std::int64_t lanes,
                     std::int64_t width) {
  width = std::min(width, lanes);
  count = std::min(count, steps * lanes - first);
  if (count <= 0) return {};
  const SlabPlace begin = slab_place(first, steps, lanes, width);
  const SlabPlace end = slab_place(first + count - 1, steps, lanes, width);
  const std::int64_t begin_slab = begin.lane / width, end_slab = end.lane / width;
  SlabRange range{.pairs = count};
  if (begin_slab == end_slab) {
    range.steps = end.step - begin.step + 1;
    const std::int64_t here = std::min(width, lanes - begin_slab * width);
    const bool wraps =
        end.step > begin.step + 1 || (end.step > begin.step && end.lane >= begin.lane - 1);
    range.lanes = end.step == begin.step ? end.lane - begin.lane + 1
                  : wraps                ? here
                                         : here - (begin.lane - end.lane - 1);
    return range;
  }
  // Over a border: down to the end of one slab, from the top of another, whole slabs between.
  const std::int64_t tail_steps = steps - begin.step, head_steps = end.step + 1;
  range.steps = end_slab - begin_slab > 1 ? steps : std::min(steps, tail_steps + head_steps);
  const std::int64_t here = std::min(width, lanes - begin_slab * width);
  const std::int64_t tail_lanes = tail_steps > 1 ? here : begin_slab * width + here - begin.lane;
  const std::int64_t head_lanes =
      head_steps > 1 ? std::min(width, lanes - end_slab * width) : end.lane - end_slab * width + 1;
  range.lanes = tail_lanes + head_lanes + (end_slab - begin_slab - 1) * width;
  return range;
}

}  // namespace foretoken

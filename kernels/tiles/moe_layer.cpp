#include "kernels/tiles/moe_layer.hpp"

#include <algorithm>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

MoeLayer layer_of(const FusedMoe& kernel) {
  FORETOKEN_CHECK(kernel.experts > 0 && kernel.ep > 0 && kernel.tp > 0, "{} experts, ep {}, tp {}",
                  kernel.experts, kernel.ep, kernel.tp);
  // Without a gate: as gated ones with as many weights and operations.
  const std::int64_t gated = kernel.ungated ? kernel.intermediate * 2 / 3 : kernel.intermediate;
  return {(kernel.experts + kernel.redundant + kernel.ep - 1) / kernel.ep, kernel.hidden,
          std::max<std::int64_t>(ceil_div(gated, kernel.tp), 1), kernel.dtype};
}

std::int64_t row_tiles(std::span<const std::int64_t> histogram, int rows) {
  std::int64_t tiles = 0;
  for (const std::int64_t count : histogram) tiles += ceil_div(count, rows);
  return tiles;
}

std::int64_t moe_grid(std::span<const std::int64_t> histogram, int tile_rows, std::int64_t columns,
                      int tile_columns, int split_k) {
  return row_tiles(histogram, tile_rows) * ceil_div(columns, tile_columns) * split_k;
}

int active_experts(std::span<const std::int64_t> histogram) {
  return static_cast<int>(
      std::ranges::count_if(histogram, [](std::int64_t count) { return count > 0; }));
}

}  // namespace foretoken

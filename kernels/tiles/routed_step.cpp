#include "kernels/tiles/routed_step.hpp"

#include <algorithm>
#include <bit>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

/// Experts a pass: enough for the compiler to work on several at once, few enough for the stack.
constexpr std::size_t chunk = 256;

}  // namespace

RoutedStep::RoutedStep(std::span<const std::int64_t> histogram, std::span<const int> heights) {
  FORETOKEN_CHECK(heights.size() <= heights_max, "{} heights of tiles", heights.size());
  std::array<std::int32_t, chunk> counts;
  for (std::size_t begin = 0; begin < histogram.size(); begin += chunk) {
    const std::size_t size = std::min(chunk, histogram.size() - begin);
    std::int64_t sum = 0;
    std::int32_t active = 0, largest = 0;
    for (std::size_t i = 0; i < size; ++i) {
      counts[i] = static_cast<std::int32_t>(histogram[begin + i]);
      sum += histogram[begin + i];
      active += counts[i] > 0 ? 1 : 0;
      largest = std::max(largest, counts[i]);
    }
    assignments_ += static_cast<double>(sum);
    active_ += active;
    for (std::size_t h = 0; h < heights.size(); ++h) {
      const int shift = std::countr_zero(static_cast<unsigned>(heights[h]));
      const std::int32_t round = heights[h] - 1;
      std::int32_t tiles = 0, beyond_2 = 0, beyond_4 = 0, beyond_8 = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const std::int32_t mine = (counts[i] + round) >> shift;
        tiles += mine;
        beyond_2 += std::max(mine - 2, 0);
        beyond_4 += std::max(mine - 4, 0);
        beyond_8 += std::max(mine - 8, 0);
      }
      RowTiles& at = tiles_[h];
      at.tiles += tiles;
      at.beyond_2 += beyond_2;
      at.beyond_4 += beyond_4;
      at.beyond_8 += beyond_8;
      at.longest = std::max(at.longest, static_cast<double>((largest + round) >> shift));
    }
  }
}

}  // namespace foretoken

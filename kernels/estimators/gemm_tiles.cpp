#include "kernels/estimators/gemm_tiles.hpp"

#include <algorithm>
#include <bit>

namespace foretoken {
namespace {

// Thinned out menus: sizes that libraries are known to have, not every one of them; the cheapest
// stands for its neighbours. Which tile cuBLAS really ran is the decomposer's business.
constexpr auto cublas_menu = std::to_array<GemmTile>({{16, 64},
                                                      {16, 128},
                                                      {32, 64},
                                                      {32, 128},
                                                      {64, 32},
                                                      {64, 64},
                                                      {64, 128},
                                                      {64, 256},
                                                      {128, 32},
                                                      {128, 64},
                                                      {128, 128},
                                                      {128, 256},
                                                      {256, 64},
                                                      {256, 128}});
constexpr auto deep_gemm_menu = std::to_array<GemmTile>({{64, 32},
                                                         {64, 64},
                                                         {64, 96},
                                                         {64, 128},
                                                         {128, 32},
                                                         {128, 64},
                                                         {128, 96},
                                                         {128, 128},
                                                         {128, 160}});
constexpr auto cute_dsl_menu = std::to_array<GemmTile>({{128, 64},
                                                        {128, 128},
                                                        {128, 192},
                                                        {128, 256},
                                                        {256, 64},
                                                        {256, 128},
                                                        {256, 256},
                                                        {64, 128},
                                                        {32, 128},
                                                        {16, 128}});
constexpr auto splits = std::to_array<int>({1, 2, 3, 4, 6, 8, 12, 16});

// vLLM's scaled_mm tables. Compute capability 9.0; 10.x pairs two SMs on twice the tile.
GemmTile bulk_copy_tile(std::int64_t m) {
  if (m <= 16) return {16, 64};
  if (m <= 64) return {64, 64};
  if (m <= 128) return {64, 128};
  return {128, 128};
}

// Compute capability 8.9; m falls into the powers of two, n into ranges that differ by row.
GemmTile by_threads_tile(std::int64_t m, std::int64_t n) {
  const bool is_wide = n > 8192 && n <= 16384;
  if (m <= 16) {
    if (n > 24576) return {32, 64};
    return {16, n > 8192 ? 128 : 64};
  }
  if (m <= 32) return {32, is_wide ? 128 : 64};
  if (m <= 64) return {64, is_wide ? 128 : 64};
  if (m <= 128) return n <= 8192 ? GemmTile{64, 128} : GemmTile{128, 64};
  if (m <= 256) return {n <= 4096 ? 64 : 128, 128};
  return {n > 4096 && n <= 8192 ? 256 : 128, 128};
}

constexpr std::int64_t few_rows = 16;

/// Rows of the finest tile that a product of gemm.m rows, more than few_rows, may be cut into.
std::int64_t row_step(TileRule rule, const Gemm& gemm, CopyEngine engine) {
  const std::int64_t m = gemm.m;
  switch (rule) {
    case TileRule::cublas:
      return m <= 128 ? 16 : m <= 256 ? 32 : 64;
    case TileRule::deep_gemm:
      return m <= 32 ? 32 : 64;
    case TileRule::cute_dsl:
      return m <= 32 ? 32 : m <= 64 ? 64 : 128;
    case TileRule::scaled_mm:
      break;
  }
  if (m > 64 && m <= 128) return 128;  // two tiles of 64 rows, which take turns as one
  return engine == by_bulk_copy ? bulk_copy_tile(m).m : by_threads_tile(m, gemm.n).m;
}

/// Of many rows, the largest power of two that is at most a 64th.
std::int64_t coarse_step(std::int64_t m) {
  constexpr std::uint64_t steps_an_octave = 64;
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(m - 1)) /
                                   steps_an_octave);
}

}  // namespace

std::span<const GemmTile> gemm_tiles(TileRule rule, const Gemm& gemm, CopyEngine engine,
                                     std::array<GemmTile, 1>& chosen) {
  switch (rule) {
    case TileRule::cublas:
      return cublas_menu;
    case TileRule::deep_gemm:
      return deep_gemm_menu;
    case TileRule::cute_dsl:
      return cute_dsl_menu;
    case TileRule::scaled_mm:
      break;
  }
  chosen[0] = engine == by_bulk_copy ? bulk_copy_tile(gemm.m) : by_threads_tile(gemm.m, gemm.n);
  return chosen;
}

std::int64_t padded_rows(TileRule rule, const Gemm& gemm, CopyEngine engine) {
  const std::int64_t step = std::max(row_step(rule, gemm, engine), coarse_step(gemm.m));
  return gemm.m <= few_rows
             ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(gemm.m)))
             : (gemm.m + step - 1) / step * step;
}

std::int64_t padded_side(std::int64_t side) {
  constexpr std::int64_t step = 64;
  return side < step ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(side)))
                     : (side + step - 1) / step * step;
}

std::int64_t smaller_side(std::int64_t side) {
  constexpr std::int64_t finest = 128, steps_an_octave = 8;
  const auto below = static_cast<std::uint64_t>(side - 1);
  const auto step =
      std::max(finest, static_cast<std::int64_t>(std::bit_floor(below)) / steps_an_octave);
  return (side - 1) / step * step;
}

std::span<const int> gemm_splits(TileRule rule) {
  return std::span<const int>(splits).first(rule == TileRule::cublas ? splits.size() : 1);
}

}  // namespace foretoken

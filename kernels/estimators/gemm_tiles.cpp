#include "kernels/estimators/gemm_tiles.hpp"

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

std::span<const int> gemm_splits(TileRule rule) {
  return std::span<const int>(splits).first(rule == TileRule::cublas ? splits.size() : 1);
}

}  // namespace foretoken

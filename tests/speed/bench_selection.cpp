// What choosing a tile without tuning costs: over all candidates, and once it is known.
#include <benchmark/benchmark.h>

#include "kernels/tiles/tile_selector.hpp"

namespace foretoken {
namespace {

/// A product that was not asked for before. `candidates` says among how many.
void cold(benchmark::State& state, const char* gpu, const char* model) {
  const TileSelector selector(load_gpu(gpu, {}), DType::bf16, model);
  TiledProduct product = tiled_product(128, 4096, 4096, DType::bf16);
  for (auto _ : state) {
    product.m = product.m % 8192 + 1;
    benchmark::DoNotOptimize(selector.select_cold(product));
  }
  state.counters["candidates"] = static_cast<double>(selector.candidates().size());
}
BENCHMARK_CAPTURE(cold, SelectingTileColdOrigami2025, "h200-sxm", "origami_2025");
BENCHMARK_CAPTURE(cold, SelectingTileColdOrigami2026, "h200-sxm", "origami_2026");
BENCHMARK_CAPTURE(cold, SelectingTileColdForetoken2026, "h200-sxm", "foretoken_2026");
BENCHMARK_CAPTURE(cold, SelectingTileColdMi300x, "mi300x", "origami_2025");

void SelectingTileCached(benchmark::State& state) {
  const TileSelector selector(load_gpu("h200-sxm", {}), DType::bf16);
  for (std::int64_t m = 1; m <= 1024; ++m) (void)selector.select(m, 4096, 4096);
  std::int64_t m = 1;
  for (auto _ : state) {
    m = m % 1024 + 1;
    benchmark::DoNotOptimize(selector.select(m, 4096, 4096));
  }
}
BENCHMARK(SelectingTileCached);

}  // namespace
}  // namespace foretoken

// What choosing a mixture-of-experts kernel's configuration costs on one core: from a step's
// histogram to the index of the fastest of 268 configurations (RaMP's larger pool), and of the few
// that a profiled layer keeps.
#include <benchmark/benchmark.h>

#include "kernels/tiles/expert_histogram.hpp"
#include "kernels/tiles/moe_dispatch.hpp"

namespace foretoken {
namespace {

std::vector<std::vector<std::int64_t>> histograms(int experts) {
  RandomStream stream = RandomStreams(1).stream("bench");
  std::vector<std::vector<std::int64_t>> all;
  for (int i = 0; i < 64; ++i) {
    all.push_back(draw_histogram({experts, 8, 64, 0.5, HistogramMode::zipf}, stream));
  }
  return all;
}

void DispatchOf268(benchmark::State& state) {
  const auto experts = static_cast<int>(state.range(0));
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  // The measured pool with GROUP_M 1, 8, 16 and 32: 268 configurations.
  MoePoolOptions options = measured_pool_options();
  options.groups = {1, 8, 16, 32};
  const auto tiles = moe_tiles(options, DType::fp8, gpu);
  std::vector<WaveConstants> constants;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    WaveConstants each{static_cast<int>(i), {}};
    each.us.fill(1e-3 * static_cast<double>(1 + i % 11));
    constants.push_back(each);
  }
  MoeDispatcher dispatcher({experts, 2048, 1024, DType::fp8}, gpu, tiles, constants, {});
  const auto all = histograms(experts);
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(dispatcher.choose(all[at++ % all.size()]));
  state.counters["configurations"] = static_cast<double>(tiles.size());
}
BENCHMARK(DispatchOf268)->Arg(64)->Arg(256);

void DispatchOfAProfiledLayer(benchmark::State& state) {
  MoeDispatcher dispatcher({64, 2048, 1024, DType::fp8}, load_gpu("h200-sxm", {}));
  const auto all = histograms(64);
  std::size_t at = 0;
  for (auto _ : state) benchmark::DoNotOptimize(dispatcher.choose(all[at++ % all.size()]));
  state.counters["configurations"] = static_cast<double>(dispatcher.tiles().size());
}
BENCHMARK(DispatchOfAProfiledLayer);

}  // namespace
}  // namespace foretoken

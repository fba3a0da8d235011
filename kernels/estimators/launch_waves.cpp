#include "kernels/estimators/launch_waves.hpp"

#include <algorithm>
#include <cmath>
#include <list>

#include "hardware/known_part.hpp"
#include "kernels/estimators/tensor_energy.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "kernels/tasks/sm_scheduler.hpp"
#include "kernels/tiles/tile_selector.hpp"

namespace foretoken {
namespace {

/// Clocks from a load to its data from DRAM, on an H200 and an A100 alike; the fit supplies what a
/// round takes of it.
constexpr double round_trip_cycles = 1000;
/// Share of L2 beyond which a repeated launch finds ever less there (ACCURACY.md, products).
constexpr double l2_kept = 0.6;

double over(double amount, double rate) { return amount > 0 && rate > 0 ? amount / rate : 0; }

/// Bytes of a launch's inputs and outputs that pass through DRAM.
double missed_bytes(const Kernel& kernel, const KernelWork& work, const GpuSpec& gpu) {
  const double bytes = work.dram_bytes.value();
  if (cold_state(kernel).value_or(true)) return bytes;
  const double filled = bytes / (l2_kept * gpu.l2_size.value());
  const double fourth = filled * filled * filled * filled;
  return std::isfinite(fourth) ? bytes * fourth / (1 + fourth) : bytes;
}

void add_launch(LaunchWaves& waves, const Launch& launch, const GpuSpec& gpu) {
  const double clock = gpu.clock.value(), sms = gpu.sm_count;
  const auto tasks = static_cast<double>(launch.task_count());
  waves[WaveColumn::launches] += gpu.launch_latency.value();
  if (tasks == 0) return;
  const PlacedLoad placed = placed_load(launch, gpu);
  const LoadSummary& load = placed.load;
  const double tensor = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(launch.tensor_dtype)];
  waves[WaveColumn::math] += over(load.busiest.tensor_ops, tensor) / clock;
  waves[WaveColumn::pipes] += std::max(over(load.busiest.fma_ops, gpu.fma_ops_per_cycle_sm),
                                       over(load.busiest.xu_ops, gpu.xu_ops_per_cycle_sm)) /
                              clock;
  waves[WaveColumn::loads] += load.busiest.bytes_loaded * sms / gpu.l2_bandwidth.value();
  waves[WaveColumn::l2] += load.total.bytes_loaded / gpu.l2_bandwidth.value();
  // Tasks that a CTA takes one after the other count as rounds of their own.
  const double rounds = std::ceil(tasks / (sms * placed.resident));
  const Task mean = {load.total.tensor_ops / tasks, load.total.fma_ops / tasks,
                     load.total.xu_ops / tasks, load.total.bytes_loaded / tasks};
  waves[WaveColumn::rounds] += rounds * task_cycles(mean, launch.tensor_dtype, gpu) / clock;
  waves[WaveColumn::round_trips] += rounds * round_trip_cycles / clock;
  const auto ctas = static_cast<double>(
      launch.scheduling == Scheduling::hardware ? launch.task_count() : launch.shape.ctas());
  waves[WaveColumn::start_up] += gpu.launch_latency.value() * std::log1p(std::min(ctas, sms));
}

/// One for each GPU and format that was asked for: a memo of nothing but what the GPU says.
const TileSelector& selector_of(const GpuSpec& gpu, DType dtype) {
  struct Entry {
    GpuSpec gpu;
    DType dtype;
    TileSelector selector;
  };
  static std::list<Entry> entries;
  const auto known = std::ranges::find_if(entries, [&](const Entry& entry) {
    return entry.dtype == dtype && same_part(entry.gpu, gpu);
  });
  if (known != entries.end()) return known->selector;
  return entries.emplace_back(Entry{gpu, dtype, TileSelector(gpu, dtype)}).selector;
}

double tile_seconds(const Gemm& gemm, const ProductCut& cut, const GpuSpec& gpu) {
  const TileSelector& selector = selector_of(gpu, product_format(gemm.dtype, gpu));
  const TiledProduct product = tiled_product(gemm);
  ProductTile tile{.m = cut.m, .n = cut.n, .k = cut.k, .split_k = cut.split_k};
  tile = with_default_pipeline(product, tile, selector.machine());
  return selector.priced(product, tile).time.value();
}

}  // namespace

Bound LaunchWaves::bound_by() const {
  constexpr auto kinds =
      std::to_array<std::pair<WaveColumn, Bound>>({{WaveColumn::launches, Bound::launch},
                                                   {WaveColumn::math, Bound::tensor},
                                                   {WaveColumn::pipes, Bound::fma},
                                                   {WaveColumn::loads, Bound::l2},
                                                   {WaveColumn::dram, Bound::dram}});
  const auto longest =
      std::ranges::max_element(kinds, {}, [this](const auto& kind) { return (*this)[kind.first]; });
  return longest->second;
}

LaunchWaves launch_waves(const Kernel& kernel, const GpuSpec& gpu) {
  LaunchWaves waves;
  const Decomposition cut = decompose(kernel, gpu);
  for (const Launch& launch : cut.launches) add_launch(waves, launch, gpu);
  if (const auto* gemm = std::get_if<Gemm>(&kernel); gemm != nullptr && cut.cut) {
    waves[WaveColumn::tiles] = tile_seconds(*gemm, *cut.cut, gpu);
  }
  const KernelWork work = kernel_work(kernel);
  waves[WaveColumn::dram] = missed_bytes(kernel, work, gpu) / gpu.dram_bandwidth.value();
  double math = waves[WaveColumn::math];
  const DType multiplied = product_format(work.tensor_dtype, gpu);
  if (math > 0 && gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(multiplied)] > 0) {
    math =
        std::max(math, 1e-6 * power_limited_us(work.tensor_flops, multiplied, energy_16bit, gpu));
  }
  waves[WaveColumn::longest] = std::max({math, waves[WaveColumn::loads], waves[WaveColumn::dram]});
  return waves;
}

}  // namespace foretoken

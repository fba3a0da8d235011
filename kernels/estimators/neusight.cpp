#include "kernels/estimators/neusight.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "kernels/kernel_work.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

/// A copy has no operations: its logarithm must be of something.
constexpr double log_floor = 1e-9;

struct NeusightTiling {
  double math = 0;                        // s, all operations at the GPU's peak
  double memory = 0;                      // s, compulsory bytes at DRAM bandwidth
  double tile_math = 0, tile_memory = 0;  // s, the mean tile at an SM's share
  double tile_bytes = 0;
  double tiles = 0, waves = 0;

  [[nodiscard]] double slots_filled(const GpuSpec& gpu) const {
    return tiles / (waves * gpu.sm_count);
  }
};

/// Seconds at the peak of one SM: on the tensor cores if the launch multiplies, else on the FMA
/// pipes. NeuSight knows no third.
double sm_seconds(const Task& task, DType dtype, const GpuSpec& gpu) {
  const double rate = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(dtype)];
  const double cycles =
      task.tensor_ops > 0 ? task.tensor_ops / rate : task.fma_ops / gpu.fma_ops_per_cycle_sm;
  return cycles / gpu.clock.value();
}

NeusightTiling neusight_tiling(const Kernel& kernel, const GpuSpec& gpu) {
  NeusightTiling tiling;
  double largest_cycles = -1;
  for (const Launch& launch : decompose(kernel, gpu).launches) {
    double cycles = 0, seconds = 0, bytes = 0;
    for (const TaskGroup& group : launch.tasks) {
      const auto count = static_cast<double>(group.count * launch.repeats);
      cycles += count * task_cycles(group.task, launch.tensor_dtype, gpu);
      seconds += count * sm_seconds(group.task, launch.tensor_dtype, gpu);
      bytes += count * group.task.bytes_loaded;
    }
    tiling.math += seconds / gpu.sm_count;
    if (cycles <= largest_cycles) continue;
    largest_cycles = cycles;
    tiling.tiles = static_cast<double>(std::max<std::int64_t>(launch.task_count(), 1));
    tiling.tile_math = seconds / tiling.tiles;
    tiling.tile_bytes = bytes / tiling.tiles;
  }
  tiling.memory = kernel_work(kernel).dram_bytes.value() / gpu.dram_bandwidth.value();
  tiling.tile_memory = tiling.tile_bytes * gpu.sm_count / gpu.dram_bandwidth.value();
  tiling.waves = std::ceil(tiling.tiles / gpu.sm_count);
  return tiling;
}

const std::vector<std::string> neusight_names = {"log2_tile_math_us", "log2_tile_memory_us",
                                                 "log2_waves_bytes_per_memory",
                                                 "log2_waves_bytes_per_l2", "log2_waves"};

class NeusightFamily final : public EstimatorFamily {
 public:
  explicit NeusightFamily(const EstimatorFamily& family) : family_(family) {}

  [[nodiscard]] std::string_view name() const override { return family_.name(); }
  [[nodiscard]] int version() const override { return 1; }
  [[nodiscard]] const std::vector<std::string>& feature_names() const override {
    return neusight_names;
  }

  [[nodiscard]] bool covers(const Kernel& kernel, const GpuSpec& gpu) const override {
    return family_.covers(kernel, gpu);
  }

  [[nodiscard]] FirstOrder first_order(const Kernel& kernel, const GpuSpec& gpu) const override {
    const NeusightTiling tiling = neusight_tiling(kernel, gpu);
    return {Seconds(std::max(tiling.math, tiling.memory) / tiling.slots_filled(gpu)),
            tiling.math > tiling.memory ? Bound::tensor : Bound::dram};
  }

  void features(const Kernel& kernel, const GpuSpec& gpu, FeatureSink& out) const override {
    const NeusightTiling tiling = neusight_tiling(kernel, gpu);
    const double waves_bytes = tiling.waves * tiling.tile_bytes * gpu.sm_count;
    for (const double value : {tiling.tile_math * 1e6, tiling.tile_memory * 1e6,
                               waves_bytes / gpu.memory_capacity.value(),
                               waves_bytes / gpu.l2_size.value(), tiling.waves}) {
      out.add(std::log2(std::max(value, log_floor)));
    }
  }

  /// It takes warm and cold launches for the same.
  [[nodiscard]] Seconds cold_extra(const Kernel&, const GpuSpec&) const override {
    return Seconds(0);
  }

 private:
  const EstimatorFamily& family_;
};

}  // namespace

const EstimatorFamily& neusight_family(const EstimatorFamily& family) {
  static const std::deque<NeusightFamily> families = [] {
    std::deque<NeusightFamily> all;
    for (const EstimatorFamily* base : estimator_families()) all.emplace_back(*base);
    return all;
  }();
  const auto found = std::ranges::find(families, family.name(), &NeusightFamily::name);
  FORETOKEN_CHECK(found != families.end(), "no family is called '{}'", family.name());
  return *found;
}

}  // namespace foretoken

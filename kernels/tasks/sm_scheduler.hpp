// Which SM runs which task (SynPerf, Section IV-B): residency limits, round-robin with refill on
// retirement, static persistent, Stream-K, and given assignments. The per-SM lists partition the
// task set exactly; uniform tasks are scheduled in closed form.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels/tasks/decomposition.hpp"

namespace foretoken {

/// CTAs of this shape that fit on an SM at once: the least of registers, shared memory (1 KiB a CTA
/// reserved), threads and CTA slots; 0 = does not fit (it is then scheduled as if one did).
int resident_ctas(const LaunchShape& shape, const GpuSpec& gpu);

/// Sums over the tasks of one SM: a cache line, to which a task is added at once.
struct alignas(64) SmLoad {
  Task sum;
  std::int64_t tasks = 0;
};

struct SmSchedule {
  std::vector<SmLoad> sms;  // by SM
  int resident = 1;         // CTAs an SM at once
  double waves = 0;         // CTAs / (SMs x resident), continuous
};

SmSchedule schedule(const Launch& launch, const GpuSpec& gpu);

/// A schedule added up. `busiest` takes the maximum over SMs pipe by pipe: no single SM need have
/// them all.
struct LoadSummary {
  Task total;
  Task busiest;
  std::int64_t busiest_tasks = 0;
};

LoadSummary summarise(const SmSchedule& schedule);

/// A launch as schedule() and summarise() have it: what prices are made of. Equal tasks, and no
/// more than one an SM, are added up without a list of SMs.
struct PlacedLoad {
  LoadSummary load;
  int resident = 1;
  double waves = 0;
};

PlacedLoad placed_load(const Launch& launch, const GpuSpec& gpu);

/// All tasks of a launch, wherever they run.
Task total_of(const Launch& launch);

/// What an SM's pipes do in a cycle; worked out once for all tasks of a launch.
class PipeRates {
 public:
  PipeRates(DType tensor_dtype, const GpuSpec& gpu)
      : a_cycle_{gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(tensor_dtype)],
                 gpu.fma_ops_per_cycle_sm, gpu.xu_ops_per_cycle_sm,
                 gpu.l2_bandwidth.value() / gpu.clock.value() / gpu.sm_count} {}

  /// Cycles a task takes on an SM of its own: the busiest pipe. What the hardware scheduler's
  /// simulation retires CTAs by.
  [[nodiscard]] double cycles(const Task& task) const {
    const std::array<double, 4> all = {task.tensor_ops, task.fma_ops, task.xu_ops,
                                       task.bytes_loaded};
    double longest = 0;
    for (std::size_t pipe = 0; pipe < all.size(); ++pipe)
      longest = std::max(longest, all[pipe] > 0 ? all[pipe] / a_cycle_[pipe] : 0.0);
    return longest;
  }

 private:
  std::array<double, 4> a_cycle_;  // in the order of Task's members
};

inline double task_cycles(const Task& task, DType tensor_dtype, const GpuSpec& gpu) {
  return PipeRates(tensor_dtype, gpu).cycles(task);
}

}  // namespace foretoken

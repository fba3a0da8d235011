// Puts decomposition and schedule side by side. DRAM is left out of the pipes: how often a load
// misses the L2 is not a decomposition's to say.
#include "kernels/tasks/explain.hpp"

#include <algorithm>

#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

LaunchExplanation explain_launch(const Launch& launch, const GpuSpec& gpu) {
  const SmSchedule placed = schedule(launch, gpu);
  const LoadSummary load = summarise(placed);
  const Task& worst = load.busiest;
  const auto cycles = [](double amount, double rate) { return amount > 0 ? amount / rate : 0.0; };
  const double l2_sm = gpu.l2_bandwidth.value() / gpu.clock.value() / gpu.sm_count;
  LaunchExplanation result;
  result.name = launch.name;
  result.tasks = launch.task_count();
  result.ctas = launch.scheduling == Scheduling::hardware ? result.tasks : launch.shape.ctas();
  result.waves = placed.waves;
  result.resident = placed.resident;
  result.worst_sm_tasks = load.busiest_tasks;
  result.bytes_loaded = load.total.bytes_loaded;
  const auto dtype = static_cast<std::size_t>(launch.tensor_dtype);
  result.pipes = {
      PipeCycles{Bound::tensor, cycles(worst.tensor_ops, gpu.tensor_ops_per_cycle_sm[dtype])},
      PipeCycles{Bound::fma, cycles(worst.fma_ops, gpu.fma_ops_per_cycle_sm)},
      PipeCycles{Bound::xu, cycles(worst.xu_ops, gpu.xu_ops_per_cycle_sm)},
      PipeCycles{Bound::l2, cycles(worst.bytes_loaded, l2_sm)},
      PipeCycles{Bound::shared, cycles(worst.bytes_loaded, gpu.shared_bytes_per_cycle_sm)}};
  const auto most = std::ranges::max_element(result.pipes, {}, &PipeCycles::cycles);
  if (most->cycles > 0) result.bound_by = most->pipe;
  return result;
}

}  // namespace

Explanation explain(const Kernel& kernel, const GpuSpec& gpu) {
  const Decomposition decomposition = decompose(kernel, gpu);
  Explanation result;
  result.implementation = resolve_implementation(kernel, gpu);
  result.plan = decomposition.plan;
  result.cut = decomposition.cut;
  result.approximation = decomposition.approximation;
  for (const Launch& launch : decomposition.launches) {
    result.launches.push_back(explain_launch(launch, gpu));
  }
  return result;
}

}  // namespace foretoken

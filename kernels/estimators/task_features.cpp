#include "kernels/estimators/task_features.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/estimators/features.hpp"

namespace foretoken {
namespace {

/// Pipes that would take longer than this share of T were cut otherwise than T assumes; how much
/// longer says nothing.
constexpr double share_max = 3;

}  // namespace

std::vector<std::string> with_task_names(std::vector<std::string> names) {
  names.insert(names.end(), {"tasks_tensor", "tasks_tensor_sm", "tasks_fma_sm", "tasks_xu_sm",
                             "tasks_l2", "tasks_l2_sm", "tasks_shared_sm", "tasks_log_waves",
                             "tasks_wave_fill", "tasks_log_resident", "tasks_log_sm"});
  return names;
}

void write_task_features(const Kernel& kernel, const GpuSpec& gpu, Seconds first_order,
                         FeatureSink& out) {
  const KernelFeatures tasks = analyze(decompose(kernel, gpu), gpu);
  const double cycles = first_order.value() * gpu.clock.value();
  for (const double pipe : {tasks.tensor.total_cycles, tasks.tensor.max_sm_cycles,
                            tasks.fma.max_sm_cycles, tasks.xu.max_sm_cycles, tasks.memory.l2_cycles,
                            tasks.memory.max_sm_l2_cycles, tasks.memory.max_sm_shared_cycles}) {
    out.add(std::min(pipe / cycles, share_max));
  }
  const double waves = std::max(tasks.waves, 1e-3);
  out.add(std::log(waves));
  out.add(waves / std::ceil(waves));
  out.add(std::log(tasks.resident_ctas));
  out.add(std::log(std::max<double>(static_cast<double>(tasks.worst_sm_tasks), 1)));
}

}  // namespace foretoken

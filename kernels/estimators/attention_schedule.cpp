#include "kernels/estimators/attention_schedule.hpp"

#include <algorithm>

#include "kernels/tasks/decomposition.hpp"

namespace foretoken {
namespace {

constexpr double step_keys = 64;

/// Of `load`'s operations, one tile's over 64 keys.
class Steps {
 public:
  Steps(const Attention& kernel, double tile_rows, bool on_cuda_cores)
      : on_cuda_cores_(on_cuda_cores),
        tensor_ops_(4 * tile_rows * step_keys * kernel.head_dim),
        bytes_(2 * step_keys * kernel.head_dim * bytes_per_element(kernel.kv_dtype)) {}

  [[nodiscard]] double in(const Task& load) const {
    return on_cuda_cores_ ? load.bytes_loaded / bytes_ : load.tensor_ops / tensor_ops_;
  }

 private:
  bool on_cuda_cores_;
  double tensor_ops_, bytes_;
};

void add(Task& sum, const Task& task) {
  sum.tensor_ops += task.tensor_ops;
  sum.fma_ops += task.fma_ops;
  sum.xu_ops += task.xu_ops;
  sum.bytes_loaded += task.bytes_loaded;
}

}  // namespace

double AttentionSchedule::steps_in_a_row() const {
  const double beside = std::clamp<double>(static_cast<double>(load.busiest_tasks), 1, resident);
  return std::max(steps_longest, steps_busiest / beside);
}

AttentionSchedule attention_schedule(const Kernel& kernel, const GpuSpec& gpu) {
  const auto& attention = std::get<Attention>(kernel);
  const Decomposition decomposition = decompose(kernel, gpu);
  AttentionSchedule result;
  double most_tasks = -1;
  for (const Launch& launch : decomposition.launches) {
    if (launch.joins_parts) {
      result.merge_bytes += total_of(launch).bytes_loaded;
      continue;
    }
    const PlacedLoad placed = placed_load(launch, gpu);
    const LoadSummary& load = placed.load;
    const auto tasks = static_cast<double>(launch.task_count());
    result.on_cuda_cores = load.total.tensor_ops == 0;
    result.tile_rows = std::max(1, decomposition.plan->cta_tile_q);
    const Steps steps(attention, result.tile_rows, result.on_cuda_cores);
    result.steps += steps.in(load.total);
    result.steps_busiest += steps.in(load.busiest);
    Task longest;
    for (const TaskGroup& group : launch.tasks) {
      longest.tensor_ops = std::max(longest.tensor_ops, group.task.tensor_ops);
      longest.bytes_loaded = std::max(longest.bytes_loaded, group.task.bytes_loaded);
    }
    result.steps_longest = std::max(result.steps_longest, steps.in(longest));
    add(result.load.total, load.total);
    add(result.load.busiest, load.busiest);
    result.load.busiest_tasks += load.busiest_tasks;
    result.tasks += tasks;
    result.waves += placed.waves;
    if (tasks > most_tasks) {
      most_tasks = tasks;
      result.resident = placed.resident;
      result.tensor_dtype = launch.tensor_dtype;
    }
  }
  result.is_split = decomposition.plan->is_split;
  result.chunk_keys = static_cast<double>(decomposition.plan->kv_chunk);
  return result;
}

}  // namespace foretoken

// FlashInfer's merge of split-KV partial results (VariableLengthMergeStates, 0.6.18): persistent
// CTAs of 128 threads loop over (query token, query head) and combine that row's partial outputs by
// their log-sum-exps. Shared memory and registers are those of the recorded sm_90 launches.
#include <algorithm>

#include "kernels/tasks/decomposers/decomposer.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

constexpr int merge_threads = 128;
constexpr int vector_elements = 8;  // 16-byte loads of 16-bit partials
constexpr int merge_stages = 4;
constexpr double partial_bytes = 2;  // partials are kept in the output's format
constexpr double sum_bytes = 4;      // log-sum-exp, fp32

}  // namespace

Launch merge_states_launch(std::span<const MergeRun> runs, int head_dim, const GpuSpec& gpu) {
  const int threads_row = std::max(1, head_dim / vector_elements);
  const int rows_cta = std::max(1, merge_threads / threads_row);
  Launch launch;
  launch.name = "merge_states";
  launch.joins_parts = true;
  launch.scheduling = Scheduling::persistent;
  launch.shape.threads = merge_threads;
  launch.shape.registers_per_thread = head_dim <= 64 ? 48 : 40;
  launch.shape.shared_memory =
      Bytes(merge_stages * rows_cta * head_dim * partial_bytes + merge_threads * sum_bytes);
  std::int64_t rows = 0;
  for (const MergeRun& run : runs) {
    const auto partials = static_cast<double>(run.chunks);
    Task task;
    task.bytes_loaded = partials * (head_dim * partial_bytes + sum_bytes);
    task.fma_ops = partials * 2 * head_dim;    // scale both, add
    task.xu_ops = partials * 2 * threads_row;  // exp2 of both scales, in every thread of the row
    append_tasks(launch.tasks, task, run.rows);
    rows += run.rows;
  }
  const std::int64_t resident = std::max(1, resident_ctas(launch.shape, gpu));
  launch.shape.grid_x = gpu.sm_count * std::min(resident, ceil_div(rows, gpu.sm_count));
  return launch;
}

}  // namespace foretoken

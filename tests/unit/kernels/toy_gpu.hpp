// An H200 with few SMs and one CTA on each, so that schedules can be followed by hand. A multiply-
// add costs 2 of 4,096 tensor operations a cycle.
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {

inline GpuSpec toy_gpu(int sms, int ctas_sm) {
  GpuSpec gpu = load_gpu("h200-sxm", {});
  gpu.l2_bandwidth = gpu.l2_bandwidth * (static_cast<double>(sms) / gpu.sm_count);
  gpu.sm_count = sms;
  gpu.ctas_sm = ctas_sm;
  return gpu;
}

/// A task that keeps the tensor cores busy for that many cycles.
inline Task busy_task(double cycles) { return {.tensor_ops = 4096 * cycles}; }

inline Launch launch_of(TaskList tasks) {
  Launch launch;
  launch.name = "test";
  launch.tasks = std::move(tasks);
  return launch;
}

/// Cycles of tensor work by SM.
inline std::vector<double> cycles_by_sm(const SmSchedule& schedule) {
  std::vector<double> cycles;
  for (const SmLoad& sm : schedule.sms) cycles.push_back(sm.sum.tensor_ops / 4096);
  return cycles;
}

inline std::vector<std::int64_t> tasks_by_sm(const SmSchedule& schedule) {
  std::vector<std::int64_t> tasks;
  for (const SmLoad& sm : schedule.sms) tasks.push_back(sm.tasks);
  return tasks;
}

}  // namespace foretoken

// An attention launch as its SMs see it: the tasks that the kernel's plan makes of every sequence
// (decomposition.hpp), placed on SMs (sm_scheduler.hpp) and summed up. Raw counts, no time: what
// first-order times and features of the attention families are made of.
// Internal to the attention families.
#pragma once

#include <cstdint>

#include "kernels/estimators/estimator.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {

struct AttentionSchedule {
  // Of the launches that attend, which run one after the other: added up.
  LoadSummary load;
  double tasks = 0;
  double waves = 0;
  int resident = 1;  // CTAs an SM at once, of the launch with most tasks
  // Steps of 64 keys, each by one tile of query rows (or, on CUDA cores, by one query a head).
  double steps = 0, steps_busiest = 0, steps_longest = 0;
  double tile_rows = 1;
  bool on_cuda_cores = false;
  bool is_split = false;
  double chunk_keys = 0;
  DType tensor_dtype = DType::bf16;
  /// Joining the parts of split sequences, a launch of its own.
  double merge_bytes = 0;

  /// Steps that the busiest place for a CTA walks: its SM's, over as many as run there at once, or
  /// those of the longest task.
  [[nodiscard]] double steps_in_a_row() const;
};

/// Throws PredictionError where nothing decomposes the kernel for this GPU.
AttentionSchedule attention_schedule(const Kernel& kernel, const GpuSpec& gpu);

}  // namespace foretoken

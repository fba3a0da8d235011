// What fills a GPU's memory before the first request: weights, the activations of the largest step,
// and what is left for KV blocks. A model that does not fit is an error before time 0.
// What it leaves out: fragmentation and CUDA graph pools (part of `runtime`).
#pragma once

#include <cstdint>

#include "hardware/gpu.hpp"
#include "models/parallel_layout.hpp"
#include "workloads/generator.hpp"

namespace foretoken {

struct MemoryPlan {
  Bytes capacity;              // the GPU's memory
  Bytes weights;               // of the fullest stage's rank
  Bytes activations;           // of the largest step
  Bytes runtime;               // CUDA context, libraries, communication buffers
  Bytes kv_budget;             // utilization * capacity - all of the above; may be negative
  Bytes kv_block;              // one block on one rank of that stage
  std::int64_t kv_blocks = 0;  // of the replica: the smallest over its stages
};

struct MemoryLimits {
  double utilization = 0.9;
  std::int64_t batch_tokens_max = 8192;
  int sequences_max = 256;
};

/// The plan of one replica. Does not judge; check_memory does.
MemoryPlan plan_memory(const Transformer& model, const ParallelLayout& layout,
                       const ExecutionSettings& execution, const GpuSpec& gpu,
                       const MemoryLimits& limits);

/// Throws ConfigError at `position` if the weights do not fit or no KV block is left, saying how
/// much is missing and what would help.
void check_memory(const MemoryPlan& plan, const Transformer& model, const ParallelLayout& layout,
                  const GpuSpec& gpu, const MemoryLimits& limits, const SourcePosition& position);

}  // namespace foretoken

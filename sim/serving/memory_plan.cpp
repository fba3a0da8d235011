#include "sim/serving/memory_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/unit_text.hpp"

namespace foretoken {
namespace {

// CUDA context, cuBLAS workspaces and the framework's own allocations on one GPU: 0.6 to 1.5 GB are
// reported by vLLM's memory profiler on A100 to H200; the middle is taken.
constexpr Bytes runtime_bytes(1e9);

/// Largest live set of a step: the MLP's two intermediate buffers next to hidden and residual, or
/// the logits in fp32 with their softmax, whichever is larger.
Bytes activation_bytes(const Transformer& model, const ParallelLayout& layout,
                       const ExecutionSettings& execution, const MemoryLimits& limits) {
  const double element = bytes_per_element(activation_dtype(execution.dtype));
  const auto tokens = static_cast<double>(limits.batch_tokens_max);
  const double topk_width = model.moe
                                ? static_cast<double>(model.moe->topk * model.moe->intermediate +
                                                      model.moe->shared_intermediate)
                                : 0.0;
  const double mlp_width = std::max(static_cast<double>(model.intermediate), topk_width);
  const double layer = tokens * element *
                       (2.0 * static_cast<double>(model.hidden) + 3.0 * mlp_width / layout.tensor);
  const double logits = static_cast<double>(limits.sequences_max) *
                        static_cast<double>(model.vocabulary) * (element + 2.0 * 4.0);
  return Bytes(std::max(layer, logits));
}

}  // namespace

MemoryPlan plan_memory(const Transformer& model, const ParallelLayout& layout,
                       const ExecutionSettings& execution, const GpuSpec& gpu,
                       const MemoryLimits& limits) {
  MemoryPlan plan;
  plan.capacity = gpu.memory_capacity;
  plan.activations = activation_bytes(model, layout, execution, limits);
  plan.runtime = runtime_bytes;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const Bytes weights = weight_bytes_per_rank(model, layout, stage, execution.formats());
    const Bytes block = execution.block_tokens *
                        kv_bytes_per_token_per_rank(model, layout, stage, execution.kv_dtype);
    const Bytes budget =
        limits.utilization * plan.capacity - weights - plan.activations - plan.runtime;
    const auto blocks = static_cast<std::int64_t>(std::floor(std::max(0.0, budget / block)));
    if (stage == 0 || blocks < plan.kv_blocks) {
      plan.weights = weights;
      plan.kv_budget = budget;
      plan.kv_block = block;
      plan.kv_blocks = blocks;
    }
  }
  return plan;
}

void check_memory(const MemoryPlan& plan, const Transformer& model, const ParallelLayout& layout,
                  const GpuSpec& gpu, const MemoryLimits& limits, const SourcePosition& position) {
  if (plan.kv_blocks > 0) return;
  const Bytes missing = plan.kv_block - plan.kv_budget;
  // More of them leave each fewer experts; without any, replicas would not help.
  const std::string attention_ranks =
      layout.data_parallel_attention > 1
          ? fmt::format(", data_parallel_attention (now {})", layout.data_parallel_attention)
          : "";
  throw ConfigError(
      position,
      fmt::format(
          "{} does not fit on {}: each GPU needs {} of weights, {} of activations and {} "
          "for the runtime, but memory_utilization = {} of {} leaves {}; {} are missing. "
          "Raise tensor_parallel (now {}){} or pipeline_parallel (now {}), choose a smaller "
          "dtype or a GPU with more memory",
          model.name, gpu.name, readable(plan.weights), readable(plan.activations),
          readable(plan.runtime), limits.utilization, readable(plan.capacity),
          readable(limits.utilization * plan.capacity), readable(missing), layout.tensor,
          attention_ranks, layout.pipeline));
}

}  // namespace foretoken

// What fills a GPU that holds routed experts and nothing else.
#include <algorithm>

#include "sim/base/unit_text.hpp"
#include "sim/serving/started_process.hpp"

namespace foretoken {
namespace {

/// Of the largest micro-batch's tokens, evenly spread: what arrives, what each expert makes of it
/// between its products, and what goes back.
Bytes expert_activations(const Transformer& model, const ParallelLayout& layout,
                         const ExecutionSettings& execution, const MemoryLimits& limits) {
  const double tokens = static_cast<double>(limits.batch_tokens_max) *
                        layout.data_parallel_attention / execution.expert_micro_batches;
  const double copies = tokens * model.moe->topk / layout.expert;  // on a set of GPUs
  const double width =
      static_cast<double>(model.moe->intermediate) * layout.expert / layout.expert_gpus;
  const auto hidden = static_cast<double>(model.hidden);
  return Bytes(copies * (hidden + std::max(2.0 * width, hidden) + width) *
               bytes_per_element(activation_dtype(execution.dtype)));
}

}  // namespace

MemoryPlan plan_expert_memory(const Transformer& model, const ParallelLayout& layout,
                              const ExecutionSettings& execution, const GpuSpec& gpu,
                              const MemoryLimits& limits, const SourcePosition& position) {
  MemoryPlan plan = started_process(layout, gpu, limits.memory_rule);
  plan.weights = expert_bytes_per_gpu(model, layout, execution.formats());
  plan.activations = expert_activations(model, layout, execution, limits);
  plan.unused = plan.usable() - plan.context - plan.communication - plan.weights -
                plan.activations - plan.runtime;
  if (plan.unused < Bytes(0.0)) {
    throw ConfigError(
        position,
        fmt::format("the experts of {} do not fit on {} x {}: each GPU needs {} of weights, {} of "
                    "activations and {} for CUDA, runtime and communication; {} are missing. Raise "
                    "expert_gpus (and expert_parallel with it), choose a smaller dtype, or give "
                    "expert_nodes with more memory",
                    model.name, layout.expert_gpus, gpu.name, readable(plan.weights),
                    readable(plan.activations),
                    readable(plan.context + plan.runtime + plan.communication),
                    readable(-1.0 * plan.unused)));
  }
  return plan;
}

}  // namespace foretoken

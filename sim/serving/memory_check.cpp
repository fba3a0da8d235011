// Judges a memory plan: what is missing and what would help.
#include <algorithm>
#include <cmath>

#include "sim/base/unit_text.hpp"
#include "sim/serving/memory_plan.hpp"

namespace foretoken {
namespace {

/// "memory_utilization = 0.9 of 44.4 GiB leaves 40 GiB", by the rule.
std::string share_text(const MemoryPlan& plan, const MemoryLimits& limits) {
  const Bytes free_at_start = plan.usable() - plan.context - plan.communication;
  Bytes whole = plan.usable();
  std::string_view what;
  if (limits.memory_rule == MemoryRule::static_fraction) {
    whole = free_at_start;
    what = " free before loading";
  } else if (limits.memory_rule == MemoryRule::of_free) {
    whole = std::max(Bytes(0.0), free_at_start - plan.weights - plan.activations - plan.runtime);
    what = " free after loading";
  }
  return fmt::format("memory_utilization = {} of {}{} leaves {}", limits.memory_utilization,
                     readable(whole), what, readable(limits.memory_utilization * whole));
}

}  // namespace

void check_memory(const MemoryPlan& plan, const Transformer& model, const ParallelLayout& layout,
                  const GpuSpec& gpu, const MemoryLimits& limits,
                  const SourcePosition& model_position, const SourcePosition& share_position) {
  if (plan.kv_blocks <= 0) {
    const Bytes missing = plan.kv_block - plan.kv_budget;
    // More of them leave each fewer experts; without any, replicas would not help.
    const std::string attention_ranks =
        layout.data_parallel_attention > 1 && layout.expert_gpus == 0
            ? fmt::format(", data_parallel_attention (now {})", layout.data_parallel_attention)
            : "";
    throw ConfigError(
        model_position,
        fmt::format(
            "{} does not fit on {}: each GPU needs {} of weights{}{}, {} of activations and {} "
            "for runtime and communication, but {}; {} are missing. Raise tensor_parallel "
            "(now {}){} or "
            "pipeline_parallel (now {}), choose a smaller dtype or a GPU with more memory",
            model.name, gpu.name, readable(plan.weights),
            plan.draft_weights > Bytes(0.0)
                ? fmt::format(" ({} of them the draft's)", readable(plan.draft_weights))
                : "",
            plan.adapters > Bytes(0.0) ? fmt::format(", {} of adapters", readable(plan.adapters))
                                       : "",
            readable(plan.activations), readable(plan.runtime + plan.communication),
            share_text(plan, limits), readable(missing), layout.tensor, attention_ranks,
            layout.pipeline));
  }
  const Bytes free_at_start = plan.usable() - plan.context;
  const Bytes asked = limits.memory_utilization * plan.usable();
  if (limits.memory_rule == MemoryRule::of_total && asked > free_at_start) {
    throw ConfigError(
        share_position,
        fmt::format("memory_utilization = {} asks for {} of {}, but once CUDA has started only {} "
                    "are free; lower it to {:.2f}",
                    limits.memory_utilization, readable(asked), readable(plan.usable()),
                    readable(free_at_start),
                    std::floor(100.0 * (free_at_start / plan.usable())) / 100.0));
  }
}

}  // namespace foretoken

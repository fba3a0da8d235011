#include "sim/serving/memory_plan.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/unit_text.hpp"
#include "sim/serving/encoder_memory.hpp"
#include "sim/serving/started_process.hpp"

namespace foretoken {
namespace {

constexpr double gibibyte = 1073741824.0;

// What a process takes of a GPU before it allocates anything: 0.60 GiB on an H200 (measured by
// calibration/measure/memory_footprint.py), 0.53 on an H100 and 0.41 on an A100 (vLLM's logs of
// 2025 and 2026, free memory at startup).
constexpr Bytes context_bytes(0.5 * gibibyte);

// Code of kernels as they are loaded and workspaces of cuBLAS, which vLLM calls non-torch memory:
// 0.07 GiB, and 0.19 once graphs have been captured, on an H200 (measured as above); 0.07 (H100,
// 2025), 0.16 and 0.26 GiB (A100, 2026) in vLLM's logs.
constexpr Bytes runtime_bytes(0.15 * gibibyte);

// NCCL's channels and the buffers of custom all-reduce, on each GPU of a group: vLLM's non-torch
// memory beyond that of one GPU, 0.18 GiB on two RTX 5090 over PCIe (2025), 0.7 GiB on four B300
// over NVLink (2026), which have three to four times the channels.
constexpr Bytes pcie_communication_bytes(0.2 * gibibyte);
constexpr Bytes nvlink_communication_bytes(0.6 * gibibyte);
// SGLang starts more groups, each with communicators of its own, before it looks at what is free:
// "Init torch distributed ends. mem usage" in its logs is 0.39 GiB on four GPUs over PCIe (2026),
// 2.0 on eight H200 and 2.4 on eight B200 (2025). Four H100 (2025) leave 1.5 by their KV pool.
constexpr Bytes sglang_pcie_bytes(0.4 * gibibyte);
constexpr Bytes sglang_nvlink_bytes(1.0 * gibibyte);
constexpr Bytes sglang_nvlink_rank_bytes(0.125 * gibibyte);

// A captured batch size of one layer: 0.053 MiB on an H200 (measured as above, with eight kernels a
// layer). vLLM's "graph capturing took", by layers and graphs: 0.085 (Llama 3.1 8B, A100, 2026),
// 0.115 (Qwen3 0.6B, RTX 5090, 2026); two to three times that in versions of 2025.
constexpr Bytes graph_layer_bytes(0.08 * 1048576.0);

/// Graphs that vLLM captures: 1, 2, 4, then every 8th batch size to 256 and every 16th to 512, up
/// to twice the sequences, for mixed steps; those up to the sequences again for decode steps.
std::int64_t captured_graphs(int sequences_max) {
  const auto sizes_to = [](std::int64_t rows) {
    const std::int64_t capped = std::min<std::int64_t>(rows, 512);
    const std::int64_t small = (capped >= 1) + (capped >= 2) + (capped >= 4);
    return small + std::min<std::int64_t>(capped, 256) / 8 +
           std::max<std::int64_t>(0, capped - 256) / 16;
  };
  return sizes_to(2 * std::int64_t{sequences_max}) + sizes_to(sequences_max);
}

/// Values that live at once for a token in the widest part of a layer, on one rank: beside hidden
/// state and residual, what enters and leaves the activation function, or the attention.
double layer_width(const Transformer& model, const ParallelLayout& layout,
                   const ExecutionSettings& execution) {
  const double tensor = layout.tensor;
  const auto hidden = static_cast<double>(model.hidden);
  double widest = 0;
  for (int layer = 0; layer < model.layers; ++layer) {
    widest = std::max(widest, 3.0 * static_cast<double>(model.dense_width(layer)) / tensor);
    if (const LayerKind* kind = model.kind(layer); kind != nullptr && kind->state) {
      // What goes into the convolution, what comes out, and the gate.
      const StateShape& state = *kind->state;
      widest = std::max(
          widest, static_cast<double>(2 * state.channels() + 2 * state.value_width()) / tensor);
    }
    if (model.mla) continue;
    const AttentionShape heads = model.attention(layer);
    widest = std::max(
        widest, static_cast<double>(heads.head_dim) * (2.0 * query_heads_per_rank(heads, layout) +
                                                       2.0 * kv_heads_per_rank(heads, layout)));
  }
  if (model.mla) {
    // Prefill: queries, keys and values of all heads, and what attention makes of them.
    widest = std::max(widest, model.query_heads / tensor *
                                  (2.0 * (model.mla->nope_dim + model.mla->rope_dim) +
                                   2.0 * model.mla->value_dim));
  }
  if (model.moe && layout.expert_gpus > 0) {
    // Routed experts work elsewhere; what goes there and comes back is gathered here.
    const double shared = 3.0 * static_cast<double>(model.moe->shared_intermediate);
    widest = std::max(widest, 2.0 * model.moe->topk * hidden / tensor + shared);
  } else if (model.moe) {
    // Fused experts keep each token's copies: after the first product twice the width, or after the
    // second the hidden state, in one buffer; between the two the width in another.
    const double width =
        static_cast<double>(model.moe->intermediate) * layout.expert / layout.stage_ranks();
    const bool gathers = layout.data_parallel_attention > 1 &&
                         (execution.expert_exchange.takes(ExchangeMethod::all_gather) ||
                          execution.expert_exchange.takes(ExchangeMethod::all_reduce));
    const double copies = model.moe->topk * (gathers ? layout.data_parallel_attention : 1.0);
    const double shared = 3.0 * static_cast<double>(model.moe->shared_intermediate) / tensor;
    widest = std::max(widest, copies * (std::max(2.0 * width, hidden) + width) + shared);
  }
  return (1.0 + std::max(model.hyper_streams, 1)) * hidden + widest;
}

/// Buffers of the largest captured batch, which all graphs share, and what each graph adds.
Bytes graph_bytes(const Transformer& model, const ParallelLayout& layout, int stage,
                  const ExecutionSettings& execution, int sequences_max) {
  const double rows = std::min(2.0 * sequences_max, 512.0);
  const double element = bytes_per_element(activation_dtype(execution.dtype));
  return Bytes(rows * element * layer_width(model, layout, execution)) +
         static_cast<double>(captured_graphs(sequences_max)) *
             stage_layers(model, layout, stage).count() * graph_layer_bytes;
}

/// The peak of an engine's profile run, which is the largest of three moments.
Bytes activation_bytes(const Transformer& model, const ParallelLayout& layout, int stage,
                       const ExecutionSettings& execution, const GpuSpec& gpu,
                       const MemoryLimits& limits) {
  const double element = bytes_per_element(activation_dtype(execution.dtype));
  const auto tokens = static_cast<double>(limits.batch_tokens_max);
  const auto vocabulary = static_cast<double>(model.vocabulary);
  const auto hidden = static_cast<double>(model.hidden);
  double peak = tokens * element * layer_width(model, layout, execution);
  if (stage == 0 && limits.encoder.step_tokens > 0)
    peak = std::max(peak, element * encoder_values(model, layout, limits.encoder));
  if (limits.memory_rule != MemoryRule::of_total) return Bytes(peak);
  // vLLM's own: its profile run samples too, and its step is compiled.
  if (stage == layout.pipeline - 1) {
    // Sampling a row for each sequence, all of them with top-p: logits as they come, in fp32, their
    // softmax and the random numbers they are divided by: 14.07 B a row and token measured (as
    // above). vLLM's top-k kernel (since 0.16) has a row of fp32 for each SM beside them; before it
    // there was a sort, and 38 B. Hidden states of the step are still there.
    // Drafts that are verified have rows of their own.
    const double rows =
        std::min(static_cast<double>(limits.sequences_max) * (1 + limits.draft.drafts), tokens);
    const double sms = std::min(rows, static_cast<double>(gpu.sm_count));
    peak = std::max(
        peak, tokens * hidden * element + vocabulary * (rows * (element + 3.0 * 4.0) + sms * 4.0));
  }
  if (stage == 0) {
    // Compiling the step, Inductor times its kernels on inputs that it allocates anew; the largest
    // is the rank's part of the embedding. Inferred: vLLM 0.19.0 has 1.12 GiB besides weights and
    // KV cache for Llama 3.1 8B (embedding 0.98 GiB) and, in a public log, 2.02 GiB for Qwen3.5 9B
    // on an L40S (1.89 GiB), 0.14 GiB more in both.
    const auto padded = static_cast<double>(padded_vocabulary(model));
    peak = std::max(peak, padded / layout.tensor * hidden * element);
  }
  return Bytes(peak);
}

/// Cosines and sines of every position, which engines keep beside the weights.
Bytes rotary_bytes(const Transformer& model, const ExecutionSettings& execution) {
  const int width = model.mla ? model.mla->rope_dim : model.head_dim;
  return Bytes(static_cast<double>(model.context_max) * width *
               bytes_per_element(activation_dtype(execution.dtype)));
}

Bytes communication_bytes(const ParallelLayout& layout, const GpuSpec& gpu, MemoryRule rule) {
  if (layout.ranks() == 1) return Bytes(0.0);
  const bool has_nvlink = gpu.nvlink_bandwidth > BytesPerSecond(0.0);
  if (rule == MemoryRule::static_fraction) {
    const double ranks = std::min(layout.ranks(), 8);  // of a node
    return has_nvlink ? sglang_nvlink_bytes + ranks * sglang_nvlink_rank_bytes : sglang_pcie_bytes;
  }
  return has_nvlink ? nvlink_communication_bytes : pcie_communication_bytes;
}

Bytes kv_budget(const MemoryPlan& plan, const MemoryLimits& limits) {
  const Bytes free_at_start = plan.usable() - plan.context - plan.communication;
  switch (limits.memory_rule) {
    case MemoryRule::of_total:
      break;
    case MemoryRule::static_fraction:
      return limits.memory_utilization * free_at_start - plan.weights - plan.adapters -
             plan.encoder_cache;
    case MemoryRule::of_free:
      return limits.memory_utilization * (free_at_start - plan.weights - plan.adapters -
                                          plan.encoder_cache - plan.activations - plan.runtime);
  }
  const Bytes graphs = limits.graphs_in_share ? plan.graphs : Bytes(0.0);
  return limits.memory_utilization * plan.usable() - plan.weights - plan.adapters -
         plan.encoder_cache - plan.activations - plan.runtime - plan.communication - graphs;
}

}  // namespace

MemoryPlan started_process(const ParallelLayout& layout, const GpuSpec& gpu, MemoryRule rule) {
  MemoryPlan plan;
  plan.capacity = gpu.memory_capacity;
  plan.driver = gpu.memory_capacity - gpu.usable_memory();
  plan.context = context_bytes;
  plan.communication = communication_bytes(layout, gpu, rule);
  plan.runtime = runtime_bytes;
  return plan;
}

namespace {

/// A stage may have no layer with attention (DeciLM skips some): then others decide.
std::int64_t blocks_in(Bytes budget, Bytes block) {
  constexpr std::int64_t any_number = 1'000'000'000'000;
  if (budget <= Bytes(0.0)) return 0;
  return block > Bytes(0.0) ? static_cast<std::int64_t>(std::floor(budget / block)) : any_number;
}

}  // namespace

namespace {

/// A stage without blocks of its own lets others decide.
KvBeside beside_of(const SequenceMemory& sequence, const MemoryPlan& plan) {
  KvBeside beside;
  if (!(plan.kv_block > Bytes(0.0))) return beside;
  beside.state_blocks = plan.state / plan.kv_block;
  for (const SequenceMemory::Window& window : sequence.windows) {
    beside.windows.push_back({window.tokens, window.per_token / plan.kv_block});
  }
  return beside;
}

}  // namespace

MemoryPlan plan_memory(const Transformer& model, const ParallelLayout& layout,
                       const ExecutionSettings& execution, const GpuSpec& gpu,
                       const MemoryLimits& limits) {
  MemoryPlan fullest;
  Bytes block_all_ranks;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    MemoryPlan plan = started_process(layout, gpu, limits.memory_rule);
    plan.weights = weight_bytes_per_rank(model, layout, stage, execution.formats()) +
                   rotary_bytes(model, execution);
    const bool has_draft = stage + 1 == layout.pipeline;
    plan.draft_weights = has_draft ? limits.draft.weights : Bytes(0.0);
    plan.weights += plan.draft_weights;
    if (execution.lora) {
      plan.adapters = static_cast<double>(execution.lora->adapters_max) *
                      StageProgram(model, layout, execution, stage).adapter_bytes();
    }
    if (stage == 0) plan.encoder_cache = encoder_cache_bytes(model, execution, limits.encoder);
    plan.activations = activation_bytes(model, layout, stage, execution, gpu, limits);
    plan.graphs = graph_bytes(model, layout, stage, execution, limits.sequences_max);
    const Bytes draft_kv = has_draft ? limits.draft.kv_per_token : Bytes(0.0);
    const SequenceMemory sequence =
        sequence_memory_per_rank(model, layout, stage, execution.kv_dtype);
    plan.kv_block = execution.block_tokens * (sequence.per_token + draft_kv);
    plan.state = sequence.state * (1.0 + limits.draft.drafts);
    plan.beside = beside_of(sequence, plan);
    plan.kv_budget = kv_budget(plan, limits);
    plan.kv_blocks = blocks_in(plan.kv_budget, plan.kv_block);
    if (const auto most = limits.kv_blocks_max()) plan.kv_blocks = std::min(plan.kv_blocks, *most);
    block_all_ranks += layout.tensor * plan.kv_block;
    if (stage == 0 || plan.kv_blocks < fullest.kv_blocks) fullest = plan;
  }
  fullest.kv_block_all_ranks = block_all_ranks;
  fullest.unused = fullest.usable() - fullest.context - fullest.communication - fullest.weights -
                   fullest.adapters - fullest.encoder_cache - fullest.activations -
                   fullest.runtime - fullest.graphs -
                   static_cast<double>(fullest.kv_blocks) * fullest.kv_block;
  return fullest;
}

MemoryPlan plan_encoder_memory(const Transformer& model, const ParallelLayout& layout,
                               const ExecutionSettings& execution, const GpuSpec& gpu,
                               const MemoryLimits& limits, const SourcePosition& position) {
  const double element = bytes_per_element(activation_dtype(execution.dtype));
  MemoryPlan plan = started_process(layout, gpu, limits.memory_rule);
  const int ranks = layout.encoder_by_data ? 1 : layout.tensor;
  plan.weights = Bytes(static_cast<double>(model.encoder_weights() / ranks) * element);
  plan.encoder_cache = encoder_cache_bytes(model, execution, limits.encoder);
  plan.activations = Bytes(element * encoder_values(model, layout, limits.encoder));
  plan.kv_blocks = 1;
  plan.kv_block_all_ranks = Bytes(1.0);
  plan.unused = plan.usable() - plan.context - plan.communication - plan.weights -
                plan.encoder_cache - plan.activations - plan.runtime;
  if (plan.unused < Bytes(0.0)) {
    throw ConfigError(
        position,
        fmt::format("the encoder of {} does not fit on {}: it needs {} of weights, {} for a "
                    "step and {} for its cache; {} are missing. Lower [engine.encoder] step_tokens "
                    "or cache_tokens, or take a GPU with more memory",
                    model.name, gpu.name, readable(plan.weights), readable(plan.activations),
                    readable(plan.encoder_cache), readable(-1.0 * plan.unused)));
  }
  return plan;
}

}  // namespace foretoken

// From (model, layout, batch shape) to the kernels of each pipeline stage: the middle of the path
// of a request, between the scheduler that says who runs and the predictor that says how long.
// Order and sharding follow vLLM; ALL shapes are those of one rank. Pure functions.
// With data parallel attention, ranks work on batches of their own up to the router; then tokens
// meet at the experts, wherever these are, and come back; so they do where experts have GPUs of
// their own. What is left out: padding of all ranks' batches to one size for CUDA graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/expert_exchange.hpp"
#include "kernels/kernel.hpp"
#include "models/operator.hpp"
#include "models/parallel_layout.hpp"
#include "workloads/lora_settings.hpp"
#include "workloads/routing_draw.hpp"
#include "workloads/segments.hpp"

namespace foretoken {

/// Whether a step's batch is split in two, so that one half computes while the other communicates
/// (DeepSeek's and SGLang's two-batch overlap).
enum class Overlap { none, two_batch };
template <>
struct EnumNames<Overlap> {
  static constexpr auto names = std::to_array<std::string_view>({"none", "two_batch"});
};

/// Number formats and settings that do not change from step to step.
struct ExecutionSettings {
  DType dtype = DType::bf16;               // weights (and, through activation_dtype, activations)
  std::optional<DType> expert_dtype = {};  // of the routed experts' weights; nullopt = dtype
  std::optional<DType> attention_dtype = {};      // of attention's projections; nullopt = dtype
  std::optional<DType> shared_expert_dtype = {};  // of shared experts' weights; nullopt = dtype
  DType kv_dtype = DType::bf16;
  int block_tokens = 16;                // KV page
  Routing routing = {};                 // MoE
  RoutingDraw routing_draw = {};        // MoE: instead, one a step
  ExpertExchange expert_exchange = {};  // data parallel attention
  Overlap overlap = Overlap::none;
  /// Experts on GPUs of their own: parts of a step's batch that go back and forth between these and
  /// attention's.
  int expert_micro_batches = 3;
  std::optional<LoraSettings> lora = {};             // adapters beside the model
  SamplingMethod sampling = SamplingMethod::greedy;  // what benchmark clients ask for
  /// All-reduces of tensor parallelism up to this size add the residual and norm themselves, so
  /// that no launch of its own does; 0 = none.
  Bytes fused_all_reduce = Bytes(0.0);
  /// Steps of up to so many tokens run shared experts beside the routed ones; 0 = none.
  std::int64_t shared_experts_beside = 0;
  /// And compressors and the index of compressed attention beside its queries.
  std::int64_t compressor_beside = 0;
  /// Whose kernels run. Serving is cold: each layer reads weights of its own. What a kernel before
  /// has just written is not: norms, rope, activations, sampling and routing find it in the L2.
  Implementation implementation = {.is_cold = true};
  KernelSource expert_kernels =
      KernelSource::automatic;                           // automatic: what the framework would take
  KernelSource block_kernels = KernelSource::automatic;  // of products in fp8_block

  /// Parts of a step's batch that overlap; 1 = it runs whole.
  [[nodiscard]] int batch_parts(const ParallelLayout& layout) const {
    if (layout.expert_gpus > 0) return expert_micro_batches;
    return overlap == Overlap::two_batch ? 2 : 1;
  }

  [[nodiscard]] WeightFormats formats() const;
  /// Takes over the formats that a checkpoint was published in.
  void set_formats(const WeightFormats& formats);
};

/// One engine iteration as the kernels of one attention rank see it.
struct BatchShape {
  std::int64_t tokens = 0;      // new tokens of all sequences together
  std::int64_t logit_rows = 0;  // sequences that get a token from this step
  AttentionLoad attention = {};
  /// Data parallel attention: new tokens of all attention ranks together, and of the rank with
  /// most. 0 = `tokens`.
  std::int64_t stage_tokens = 0, stage_tokens_max = 0;
  bool stage_has_prompts = false;  // some attention rank has one; this one's count anyway
  /// Different adapters of the sequences, and their new tokens: among `tokens`.
  std::int64_t adapters = 0, adapted_tokens = 0;
  /// Of the rows of logits, those that drafts are judged by, and the sequences that these are of.
  std::int64_t draft_rows = 0, verifying = 0;

  [[nodiscard]] bool has_prompts() const {
    return stage_has_prompts || attention.prefill.sequences > 0;
  }
};

/// What one of the layout's groups that share prompts computes of the batch: its part of their
/// tokens, and all decodes.
BatchShape share_of_prompts(const BatchShape& batch, const ParallelLayout& layout);

/// What depends on one attention rank's batch, or on the batches of all; without data parallel
/// attention everything is local. Low-rank products of adapters are a part of their own, and of
/// all.
enum class StagePart { all, local, joint, adapted };

/// What one pipeline stage launches, worked out once; a batch then only fills in its rows. Replicas
/// keep one per stage, since this costs a fraction of expanding the layers for every batch.
class StageProgram {
 public:
  /// `layout` must fit `model` (check_layout). No reference is kept.
  StageProgram(const Transformer& model, const ParallelLayout& layout,
               const ExecutionSettings& settings, int stage);

  /// The kernels for `batch`, in launch order. Layers with the same operators (window, dense or
  /// MoE) are folded into KernelCall::calls where the first of them stands. Collectives are
  /// included. A later stage begins with "pipeline_all_gather" and all but the last end in
  /// "pipeline_send": vLLM sends hidden states and residual, each rank its 1/TP slice, which the
  /// receiving ranks gather (TP > 1). Without logit_rows there is no LM head. `batch.tokens` must
  /// be positive (checked); it may exceed the attention's, for engines that pad. Of groups that
  /// share prompts it is one's (share_of_prompts).
  [[nodiscard]] KernelSequence kernels(const BatchShape& batch,
                                       StagePart part = StagePart::all) const;
  /// The same in place of what `sequence` has, in its memory.
  void list_kernels(const BatchShape& batch, StagePart part, KernelSequence& sequence) const;

  /// Whether sparse attention is left out for a dense one: SGLang, steps of prompts alone, none of
  /// which has more keys than an index would choose (kernels/latent_prompts.hpp).
  [[nodiscard]] bool attends_densely(const BatchShape& batch) const;
  /// Whether kernels run on streams of their own (kernel_streams.hpp) in steps without prompts
  /// only.
  [[nodiscard]] bool forks_decodes_alone() const { return forks_decodes_alone_; }

  /// Weights of one adapter on a rank of the stage, in 16 bit.
  [[nodiscard]] Bytes adapter_bytes() const;

  /// The runs of computation and communication that KernelCall::segment numbers.
  [[nodiscard]] const std::vector<SegmentBlock>& blocks() const { return blocks_; }

 private:
  /// What a kernel's number of rows follows.
  enum class Rows {
    tokens,
    logits,           // sequences that get a token
    drawn,            // of these, those that are sampled
    judged,           // and those that drafts are judged by
    decodes,          // new tokens of sequences that decode
    prompts,          // of prompts
    expanded,         // tokens of prompts whose keys and values are made from latents
    contexts,         // of prompts, with those that are cached
    gathered,         // of prompts, on all ranks that share them
    adapted,          // of sequences with adapters
    adapted_experts,  // (token, expert) pairs of these
    share,            // each tensor-parallel rank's part of its group's tokens
    stage,            // tokens of all attention ranks
    padded_stage,     // the same if all had as many as the one with most
    most,             // tokens of the attention rank with most
    exchange,         // copies of tokens that the busiest rank sends or receives
    exchanged,        // the same as tokens, each with its copies
  };
  static constexpr StagePart part_of(Rows rows) {
    if (rows == Rows::adapted || rows == Rows::adapted_experts) return StagePart::adapted;
    return rows >= Rows::stage ? StagePart::joint : StagePart::local;
  }
  /// Steps that launch a kernel: where experts are exchanged in two ways, by which of them.
  enum class When { always, as_prompts, as_decodes };
  /// And where prompts attend in two ways.
  enum class Attends { always, densely, sparsely };
  /// A call per batch, but for its number of rows.
  struct Step {
    KernelCall call;
    Rows rows = Rows::tokens;
    double bytes_per_row = 0;  // collectives
    int held = 1;  // low-rank products: how many of the kind an adapter has, one an expert
    std::int64_t chunk = 0;  // attention within chunks of so many tokens; 0 = none
    When when = When::always;
    Attends attends = Attends::always;
    double fused_rows = 0;  // up to so many are a part of the launch before
    StreamLane stream = {};
    std::int64_t stream_tokens_max = 0;  // of steps that run on it
    bool stream_of_decodes = false;      // and have no prompts
  };
  class Builder;

  [[nodiscard]] double rows_of(const Step& step, const BatchShape& batch) const;
  [[nodiscard]] static bool forks(const Step& step, const BatchShape& batch);
  [[nodiscard]] std::int64_t low_rank_weights(const Step& step, const BatchShape& batch) const;
  [[nodiscard]] std::int64_t judged_rows(const BatchShape& batch) const;
  [[nodiscard]] When when_of(const BatchShape& batch) const;
  [[nodiscard]] double copies_of_a_token() const;
  [[nodiscard]] double exchange_rows(std::int64_t tokens, std::int64_t tokens_max) const;

  int tensor_;
  int sharing_prompts_;
  int stage_ranks_, expert_ranks_;
  Framework framework_;  // whose kernels judge drafts
  SamplingMethod sampling_;
  int decode_tokens_max_;            // that are exchanged as decodes; 0 = any
  std::int64_t dense_contexts_max_;  // contexts that prompts attend to densely
  bool forks_decodes_alone_ = false;
  ExpertGroups groups_;  // that a token's experts are limited to
  FusedMoe experts_;     // without tokens; experts = 0: a dense model
  std::vector<Step> steps_;
  std::vector<SegmentBlock> blocks_;
};

/// The groups that a token's experts are limited to, as the ranks hold them: balancing by load
/// (expert_placement.hpp) spreads each group over all ranks, so that no limit is left of it.
ExpertGroups groups_on_ranks(const Transformer& model, const ParallelLayout& layout);

/// StageProgram(model, layout, settings, stage).kernels(batch), for a single batch.
KernelSequence generate(const Transformer& model, const ParallelLayout& layout,
                        const ExecutionSettings& settings, const BatchShape& batch, int stage);

}  // namespace foretoken

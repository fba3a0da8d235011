// How a model is cut over the GPUs of one replica: tensor, pipeline and expert parallelism and data
// parallel attention, as vLLM shards (KV heads replicate when TP exceeds them, the latent of MLA is
// on every rank; vocabulary padded to a multiple of 64).
// A stage's ranks are `data_parallel_attention` groups of `tensor` ranks. A group has all layers
// but the experts, and sequences and a KV cache of its own. Experts are spread over all ranks of
// the stage: `expert` sets of ranks hold whole experts, and the ranks of a set cut each expert's
// width. `decode_context` of a group's ranks that would hold copies of one KV head hold a part of
// every sequence's tokens each instead (vLLM's decode context parallelism). With `prefill_context`
// a stage has so many groups with the same sequences: each computes a part of every prompt, gathers
// the keys and values of the others, and decodes with all of them (SGLang's attention CP).
// With `expert_gpus` routed experts have GPUs of their own, to which attention's ranks send tokens
// in every layer (attention and FFN apart: MegaScale-Infer, arXiv 2504.02263; vLLM's AFD).
#pragma once

#include <cstdint>
#include <string>

#include "models/operator.hpp"
#include "models/transformer.hpp"

namespace foretoken {

struct ParallelLayout {
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;                   // sets of ranks that share the experts; divides expert_ranks()
  int data_parallel_attention = 1;  // groups of `tensor` ranks with sequences of their own
  int decode_context = 1;           // ranks of a group that share contexts; divides `tensor`
  int prefill_context = 1;          // groups that share prompts
  int redundant_experts = 0;        // copies of experts a layer, spread over `expert` with them
  bool experts_by_load = false;     // experts and copies lie where they even out the load
  int expert_gpus = 0;              // that hold the experts and nothing else; 0 = the stage's ranks
  bool encoder_by_data = false;     // each rank of a group encodes some of the images, not a part
                                    // of each (vLLM's --mm-encoder-tp-mode data)

  /// Tensor-parallel groups of a stage.
  [[nodiscard]] int groups() const { return data_parallel_attention * prefill_context; }
  [[nodiscard]] int stage_ranks() const { return tensor * groups(); }
  /// Ranks that hold a stage's experts.
  [[nodiscard]] int expert_ranks() const { return expert_gpus > 0 ? expert_gpus : stage_ranks(); }
  /// Whether tokens travel to the experts' ranks and back.
  [[nodiscard]] bool exchanges_tokens() const { return groups() > 1 || expert_gpus > 0; }
  [[nodiscard]] int attention_ranks() const { return stage_ranks() * pipeline; }
  [[nodiscard]] int ranks() const { return attention_ranks() + expert_gpus; }

  bool operator==(const ParallelLayout&) const = default;
};

/// The most GPUs that a replica may span: 200 times the widest expert parallelism in use (320), so
/// that products of a layout stay far from a type's end and a slip of the keyboard is noticed.
inline constexpr int ranks_max = 65'536;

/// Why `layout` spans more GPUs than any replica can, or "". Its ranks() and stage_ranks() count
/// only where it does not; its counts must be 1 or more.
std::string size_problem(const ParallelLayout& layout);

/// Half-open range of layers.
struct LayerRange {
  int first = 0, end = 0;
  [[nodiscard]] int count() const { return end - first; }
};

/// Layers of pipeline stage `stage` (from 0). When layers do not divide, the remainder goes one
/// each to the stages from the last but one backwards (the last also holds the LM head), as vLLM
/// does.
LayerRange stage_layers(const Transformer& model, const ParallelLayout& layout, int stage);

/// Adds a diagnostic at `position` for every way in which `layout` does not fit `model`: TP that
/// does not divide the query heads, MLP width or padded vocabulary, KV heads that neither divide
/// nor are divided by TP, more stages than layers, EP that does not divide the experts or a stage's
/// ranks, data parallel attention without experts (that is what replicas are for), contexts shared
/// by more ranks than have the same KV head, shared prompts beside data parallel attention, experts
/// apart from a pipeline's stages or from shared prompts. Each says which values fit. All functions
/// below need a layout that fits.
void check_layout(const Transformer& model, const ParallelLayout& layout,
                  const SourcePosition& position, Diagnostics& diagnostics);

int query_heads_per_rank(const AttentionShape& shape, const ParallelLayout& layout);
/// At least 1: KV heads replicate when TP exceeds them.
int kv_heads_per_rank(const AttentionShape& shape, const ParallelLayout& layout);
/// The vocabulary padded to a multiple of 64: rows of the embedding and the LM head over all ranks.
std::int64_t padded_vocabulary(const Transformer& model);

/// Features of one rank's part of a weight matrix.
struct LinearShape {
  std::int64_t in_features = 0, out_features = 0;
};
/// One rank's part of a linear operator, for its GEMM as well as its bytes. With data parallel
/// attention every rank holds the shared expert whole, and so it does where experts are apart.
LinearShape shape_per_rank(const Operator& linear, const Transformer& model,
                           const ParallelLayout& layout);

/// Weight bytes on one rank of `stage` (embedding on the first, LM head on the last stage). Latent
/// attention keeps its up-projection twice where `formats` are below 16 bit: decodes run on a copy
/// in 16 bit (vLLM). Without the experts where these have GPUs of their own.
Bytes weight_bytes_per_rank(const Transformer& model, const ParallelLayout& layout, int stage,
                            const WeightFormats& formats);
/// Weight bytes of routed experts on one of the GPUs that hold nothing else.
Bytes expert_bytes_per_gpu(const Transformer& model, const ParallelLayout& layout,
                           const WeightFormats& formats);
}  // namespace foretoken

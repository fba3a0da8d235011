// The kernels an LLM forward pass is made of, as plain structs: what is computed and on which
// shapes, nothing about how long it takes. Shapes are those of one rank, after sharding.
// A KernelSequence is what the workload generator hands to the pricing side.
//
// Kernels that stream activations say what they are made of in fields(): cases of `predict`,
// columns of datasets, layouts, texts and hashes follow from it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hardware/dtype.hpp"
#include "kernels/attention_load.hpp"
#include "kernels/draft_verification.hpp"
#include "kernels/expert_reach.hpp"
#include "kernels/hybrid_kernels.hpp"
#include "kernels/implementation.hpp"
#include "kernels/kernel_fields.hpp"
#include "kernels/low_rank.hpp"
#include "kernels/routing.hpp"
#include "sim/base/enum_names.hpp"

namespace foretoken {

/// C[m,n] = A[m,k] W[n,k]^T; m is the number of tokens. `dtype` is the weights' format; the
/// activations are quantised to match where the format is below 16 bit.
struct Gemm {
  static constexpr std::string_view type_name = "gemm";
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::bf16;
  Implementation implementation = {};
  friend bool operator==(const Gemm&, const Gemm&) = default;
};

/// `batch` products of one shape, each with weights of its own: the up-projections of latent
/// attention, one a query head.
struct BatchedGemm {
  static constexpr std::string_view type_name = "batched_gemm";
  int batch = 1;
  std::int64_t m = 0, n = 0, k = 0;
  DType dtype = DType::bf16;
  Implementation implementation = {};
  friend bool operator==(const BatchedGemm&, const BatchedGemm&) = default;
};

/// Self-attention over a paged KV cache, mixed prefill and decode.
struct Attention {
  static constexpr std::string_view type_name = "attention";
  int query_heads = 0, kv_heads = 0, head_dim = 0;
  DType dtype = DType::bf16;
  DType kv_dtype = DType::bf16;
  bool causal = true;
  std::int64_t window = 0;  // keys a query sees at most; 0 = all
  int page_tokens = 16;     // of the KV cache; 0 = keys lie in one piece (ragged)
  AttentionLoad load = {};
  Implementation implementation = {};
  friend bool operator==(const Attention&, const Attention&) = default;
};

/// DeepSeek's multi-head latent attention on the compressed cache. Prompts' keys and values are
/// expanded from the latent as part of it; what decodes do instead (queries and results passed
/// through the up-projections) is a BatchedGemm before and after.
struct Mla {
  static constexpr std::string_view type_name = "mla";
  int query_heads = 0;
  int latent_dim = 512, rope_dim = 64;
  DType dtype = DType::bf16;
  DType kv_dtype = DType::bf16;
  AttentionLoad load = {};
  Implementation implementation = {};
  int nope_dim = 128, value_dim = 128;  // of a head's expanded key, beside rope_dim, and value
  bool expands_cached = false;          // of prompts, however few and in every engine
  friend bool operator==(const Mla&, const Mla&) = default;
};

// The kernels that stream activations say whether they find them in DRAM (`is_cold`), as in a
// benchmark that sweeps the L2, or as the kernel before has just written them, as in a step.

struct RmsNorm {
  static constexpr std::string_view type_name = "rms_norm";
  std::int64_t tokens = 0, dim = 0;
  DType dtype = DType::bf16;
  bool is_cold = true;
  static constexpr auto fields() { return row_fields<RmsNorm>(); }
  friend bool operator==(const RmsNorm&, const RmsNorm&) = default;
};
/// residual += x; x = norm(residual).
struct FusedAddRmsNorm {
  static constexpr std::string_view type_name = "fused_add_rms_norm";
  std::int64_t tokens = 0, dim = 0;
  DType dtype = DType::bf16;
  bool is_cold = true;
  static constexpr auto fields() { return row_fields<FusedAddRmsNorm>(); }
  friend bool operator==(const FusedAddRmsNorm&, const FusedAddRmsNorm&) = default;
};
/// Norm of each query and key head on its own (Qwen3).
struct QkNorm {
  static constexpr std::string_view type_name = "qk_norm";
  std::int64_t tokens = 0;
  int heads = 0, head_dim = 0;  // heads: query and KV heads together
  DType dtype = DType::bf16;
  bool is_cold = true;
  static constexpr auto fields() { return head_fields<QkNorm>(); }
  friend bool operator==(const QkNorm&, const QkNorm&) = default;
};
struct Rope {
  static constexpr std::string_view type_name = "rope";
  std::int64_t tokens = 0;
  int heads = 0, head_dim = 0;  // heads: query and KV heads together
  DType dtype = DType::bf16;
  bool is_cold = true;
  static constexpr auto fields() { return head_fields<Rope>(); }
  friend bool operator==(const Rope&, const Rope&) = default;
};
/// Always cold: the slots are spread over a cache far larger than the L2.
struct KvWrite {
  static constexpr std::string_view type_name = "kv_write";
  std::int64_t tokens = 0;
  int kv_heads = 0, head_dim = 0;
  DType dtype = DType::bf16, kv_dtype = DType::bf16;
  static constexpr auto fields() {
    return std::tuple(
        KernelField{"tokens", &KvWrite::tokens}, KernelField{"kv_heads", &KvWrite::kv_heads},
        KernelField{"head_dim", &KvWrite::head_dim}, KernelField{"dtype", &KvWrite::dtype},
        KernelField{"kv_dtype", &KvWrite::kv_dtype});
  }
  friend bool operator==(const KvWrite&, const KvWrite&) = default;
};
/// out[t, dim] = silu(x[t, :dim]) * x[t, dim:]; `dim` is half the input's width.
struct SiluAndMul {
  static constexpr std::string_view type_name = "silu_and_mul";
  std::int64_t tokens = 0, dim = 0;
  DType dtype = DType::bf16;
  bool is_cold = true;
  static constexpr auto fields() { return row_fields<SiluAndMul>(); }
  friend bool operator==(const SiluAndMul&, const SiluAndMul&) = default;
};
/// Always cold: its table is read where tokens say.
struct Embedding {
  static constexpr std::string_view type_name = "embedding";
  std::int64_t tokens = 0, dim = 0;
  DType dtype = DType::bf16;
  static constexpr auto fields() { return row_fields<Embedding>(); }
  friend bool operator==(const Embedding&, const Embedding&) = default;
};
/// The end of a step: one row of logits over the vocabulary for each sequence that gets a token.
struct Sampling {
  static constexpr std::string_view type_name = "sampling";
  std::int64_t rows = 0, vocabulary = 0;
  SamplingMethod method = SamplingMethod::top_p;
  bool is_cold = true;
  static constexpr auto fields() {
    return std::tuple(KernelField{"rows", &Sampling::rows},
                      KernelField{"vocabulary", &Sampling::vocabulary},
                      KernelField{"method", &Sampling::method});
  }
  friend bool operator==(const Sampling&, const Sampling&) = default;
};
/// Top-k of the router's logits and softmax over them.
struct TopKRouting {
  static constexpr std::string_view type_name = "topk_routing";
  std::int64_t tokens = 0;
  int experts = 0, topk = 0;
  bool is_cold = true;
  static constexpr auto fields() {
    return std::tuple(KernelField{"tokens", &TopKRouting::tokens},
                      KernelField{"experts", &TopKRouting::experts},
                      KernelField{"topk", &TopKRouting::topk});
  }
  friend bool operator==(const TopKRouting&, const TopKRouting&) = default;
};
/// Align, gate-up GEMM, activation, down GEMM, weighted sum over the top k. `tokens` are this
/// rank's batch before routing; `intermediate` is the full width before `tp` divides it; `experts`
/// is the full number before `ep` divides it.
struct FusedMoe {
  static constexpr std::string_view type_name = "fused_moe";
  std::int64_t tokens = 0;
  int experts = 0, topk = 0;
  std::int64_t hidden = 0, intermediate = 0;
  DType dtype = DType::bf16;
  int tp = 1, ep = 1;
  Routing routing = {};
  Implementation implementation = {};
  bool ungated = false;         // two matrices an expert (up, down; Nemotron's ReLU^2), not three
  int redundant = 0;            // copies of experts beside them, spread over the ranks with them
  bool placed_by_load = false;  // else popular experts lie as they happen to

  friend bool operator==(const FusedMoe&, const FusedMoe&) = default;
};

enum class CollectiveOp {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  send_recv,
  broadcast,
  expert_dispatch,
  expert_combine
};
template <>
struct EnumNames<CollectiveOp> {
  static constexpr auto names = std::to_array<std::string_view>(
      {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv", "broadcast",
       "expert_dispatch", "expert_combine"});
};
/// Which ranks take part: a tensor-parallel group of a stage, those of it that share the contexts
/// of a KV head, the like ranks of all groups (they share prompts), all ranks of a stage (they
/// share the experts), or the same rank of the next pipeline stage.
enum class CommGroup {
  tensor_parallel,
  context_parallel,
  prompt_parallel,
  expert_parallel,
  next_stage
};

/// How tokens travel to their experts' ranks and back (DeepEP's two sets of kernels). normal: a
/// token crosses once to each node and is forwarded there, for throughput. low_latency: it is sent
/// straight to each of its experts.
enum class ExpertMode { normal, low_latency };
template <>
struct EnumNames<ExpertMode> {
  static constexpr auto names = std::to_array<std::string_view>({"normal", "low_latency"});
};

/// What decides where the tokens of an expert exchange go.
struct ExpertTraffic {
  int experts = 0, topk = 0;
  ExpertMode mode = ExpertMode::normal;
  ExpertGroups groups = {};
  friend bool operator==(const ExpertTraffic&, const ExpertTraffic&) = default;
};

/// `bytes` is the whole buffer as NCCL's tests count it (all_gather and reduce_scatter: the
/// gathered size; all_to_all, send_recv and broadcast: what one rank sends). Expert dispatch and
/// combine: one copy of each token of one rank, in the format it travels in (scales included).
struct Collective {
  static constexpr std::string_view type_name = "collective";
  CollectiveOp op = CollectiveOp::all_reduce;
  CommGroup group = CommGroup::tensor_parallel;
  int ranks = 1;
  double bytes = 0;
  ExpertTraffic experts = {};
  friend bool operator==(const Collective&, const Collective&) = default;
};

using Kernel = std::variant<Gemm, Attention, Mla, RmsNorm, FusedAddRmsNorm, QkNorm, Rope, KvWrite,
                            SiluAndMul, Embedding, Sampling, TopKRouting, FusedMoe, Collective,
                            BatchedGemm, StateScan, StateConvolution, KeyIndexer, SparseAttention,
                            HyperConnection, LowRank, DraftVerification>;

/// The name of the kernel's type as `foretoken predict` spells it: "gemm", "fused_add_rms_norm" …
std::string_view kernel_name(const Kernel& kernel);

/// A hash of everything that decides the kernel's price.
std::uint64_t kernel_hash(const Kernel& kernel);

/// Whether what it reads comes from DRAM; nullopt: kernels that cannot say, which are priced as if
/// it did.
std::optional<bool> cold_state(const Kernel& kernel);
/// Nothing happens to kernels that cannot say.
void set_cold(Kernel& kernel, bool is_cold);

/// Where a kernel runs (kernel_streams.hpp): a fork's lanes at once, what follows on lane 0.
struct StreamLane {
  int fork = 0;  // its number in the stage; 0 = none: the kernel runs alone
  int lane = 0;

  [[nodiscard]] bool is_aside() const { return fork > 0 && lane > 0; }
  friend bool operator==(const StreamLane&, const StreamLane&) = default;
};

/// A kernel, what it does in the model ("qkv_proj"), and how often this stage runs it.
/// `role` points at a string literal or at a name the model owns.
struct KernelCall {
  std::string_view role;
  Kernel kernel;
  int calls = 1;
  int segment = 0;  // run of computation or communication it belongs to (workloads/segments.hpp)
  LoadPart part = LoadPart::all;  // of the step's load, and of its rows where they are the load's
  int context_parts = 1;          // ranks that share the contexts which it reads
  StreamLane stream = {};
  bool expands_cached = false;  // as in Mla, of the product that makes keys and values

  [[nodiscard]] AttentionLoad load_of(const AttentionLoad& step) const {
    return step.of(part, context_parts);
  }
  friend bool operator==(const KernelCall&, const KernelCall&) = default;
};

/// One pipeline stage's kernels in launch order; equal layers are folded into `calls`.
using KernelSequence = std::vector<KernelCall>;

}  // namespace foretoken

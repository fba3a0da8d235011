// What the decomposers share: the list of them, and the pieces that several build launches from.
// For kernels/tasks/decomposers and kernels/tasks/decomposition.cpp only; everybody else calls
// decompose().
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tasks/decomposition.hpp"

namespace foretoken {

template <class Kind>
struct DecomposerEntry {
  KernelSource source;
  Decomposition (*decompose)(const Kind&, const GpuSpec&);
};

/// One line a kernel source (sources.cpp).
std::span<const DecomposerEntry<Attention>> attention_decomposers();
std::span<const DecomposerEntry<Mla>> mla_decomposers();
std::span<const DecomposerEntry<Gemm>> gemm_decomposers();
std::span<const DecomposerEntry<FusedMoe>> moe_decomposers();

/// Kernels that every framework runs in the same way.
Decomposition decompose_rms_norm(const RmsNorm& kernel, const GpuSpec& gpu);
Decomposition decompose_fused_add_rms_norm(const FusedAddRmsNorm& kernel, const GpuSpec& gpu);
Decomposition decompose_qk_norm(const QkNorm& kernel, const GpuSpec& gpu);
Decomposition decompose_silu_and_mul(const SiluAndMul& kernel, const GpuSpec& gpu);
Decomposition decompose_rope(const Rope& kernel, const GpuSpec& gpu);
Decomposition decompose_kv_write(const KvWrite& kernel, const GpuSpec& gpu);
Decomposition decompose_embedding(const Embedding& kernel, const GpuSpec& gpu);
Decomposition decompose_sampling(const Sampling& kernel, const GpuSpec& gpu);
Decomposition decompose_topk_routing(const TopKRouting& kernel, const GpuSpec& gpu);

// ---- pieces -------------------------------------------------------------------------------------

/// Neither is negative. Most CPUs divide 32 bits in a third of the time of 64.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  const std::int64_t sum = a + b - 1;
  if (((sum | b) >> 32) != 0) return sum / b;
  return static_cast<std::uint32_t>(sum) / static_cast<std::uint32_t>(b);
}
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) != 0) return a / b;
  return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
}
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }
/// The smallest power of two that is not below `value`.
constexpr std::int64_t power_of_two_at_least(std::int64_t value) {
  std::int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

/// Bytes of an activation element beside weights of this format.
constexpr double activation_bytes(DType dtype) {
  return bytes_per_element(activation_dtype(dtype));
}

/// Appends `count` tasks, joined to the last group if they equal it.
void append_tasks(TaskList& groups, const Task& task, std::int64_t count);
/// Appends a list `count` times.
void append_list(TaskList& groups, std::span<const TaskGroup> list, std::int64_t count);
/// Appends `count` times what `append_one(list)` appends to a list.
template <class AppendOne>
void append_times(TaskList& groups, std::int64_t count, const AppendOne& append_one) {
  if (count == 1) return append_one(groups);
  TaskList one;
  append_one(one);
  append_list(groups, one, count);
}

/// A launch of `count` equal CTAs.
Launch uniform_launch(std::string_view name, const Task& task, std::int64_t count, int threads,
                      int registers);

// ---- attention ----------------------------------------------------------------------------------

/// `count` sequences in a row with the same lengths.
struct SliceRun {
  SequenceSlice slice;
  std::int64_t count = 0;
};
using SliceRuns = RecycledVector<SliceRun>;

/// A load as runs of equal sequences, in its order. From sums: sequences as equal as whole tokens
/// allow. Sequences without a query token are left out.
SliceRuns slice_runs(const AttentionLoad& load, LoadPart part);

/// The format that scores are multiplied in: fp8 where queries are fp8, else the activations'.
DType score_dtype(DType dtype);

struct KeySpan {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// Keys that the queries [first, end) of a slice see together.
inline KeySpan visible_keys(const SequenceSlice& slice, std::int64_t first_query,
                            std::int64_t end_query, bool is_causal, std::int64_t window) {
  const std::int64_t before = slice.context_tokens - slice.query_tokens;  // keys of earlier steps
  KeySpan span{0, slice.context_tokens};
  if (is_causal) span.end = std::clamp<std::int64_t>(before + end_query, 0, slice.context_tokens);
  if (window > 0) {
    span.begin = std::clamp<std::int64_t>(before + first_query + 1 - window, 0, span.end);
  }
  return span;
}
/// Keys from `first` to `last` that lie in both.
inline std::int64_t overlap(const KeySpan& a, const KeySpan& b) {
  return std::max<std::int64_t>(0, std::min(a.end, b.end) - std::max(a.begin, b.begin));
}

/// A tile of query rows that walks keys in steps.
struct AttentionTile {
  std::int64_t rows = 128;
  std::int64_t keys_step = 128;
  double score_dim = 128;  // of queries and keys
  double value_dim = 128;
  double query_bytes = 256;  // a row
  double key_bytes = 512;    // a key and its value
};

/// The tile of a kernel with separate keys and values of one size.
AttentionTile attention_tile(const Attention& kernel, std::int64_t rows, std::int64_t keys_step);

/// Softmax on the FMA pipes, a score: running maximum, scale and subtract, sum, conversion.
inline constexpr double softmax_fma_per_score = 4.0;

/// Tasks of one tile over different numbers of keys: operations at tile granularity (a started step
/// is a whole step), bytes of the keys themselves. Sums of whole numbers, so exact in any order.
class AttentionTasks {
 public:
  explicit AttentionTasks(const AttentionTile& tile)
      : keys_step_(tile.keys_step),
        shift_(std::has_single_bit(static_cast<std::uint64_t>(tile.keys_step))
                   ? std::countr_zero(static_cast<std::uint64_t>(tile.keys_step))
                   : -1) {
    const auto rows = static_cast<double>(tile.rows);
    const double scores = rows * static_cast<double>(tile.keys_step);
    // exp2 of scores and rescalings, 1/sum; products, and the rescaling of what is summed so far.
    start_ = {0, 0, rows, rows * tile.query_bytes};
    step_ = {2 * scores * (tile.score_dim + tile.value_dim),
             softmax_fma_per_score * scores + rows * tile.value_dim, scores + rows, 0};
    key_bytes_ = tile.key_bytes;
  }

  [[nodiscard]] std::int64_t keys_step() const { return keys_step_; }
  /// Steps of keys that `keys` begin.
  [[nodiscard]] std::int64_t steps(std::int64_t keys) const {
    return shift_ < 0 ? ceil_div(keys, keys_step_) : (keys + keys_step_ - 1) >> shift_;
  }

  [[nodiscard]] Task of(std::int64_t keys) const {
    const auto steps_begun = static_cast<double>(steps(keys));
    return {steps_begun * step_.tensor_ops, steps_begun * step_.fma_ops,
            start_.xu_ops + steps_begun * step_.xu_ops,
            start_.bytes_loaded + static_cast<double>(keys) * key_bytes_};
  }

 private:
  std::int64_t keys_step_;
  int shift_;  // -1: a step is no power of two
  Task start_, step_;
  double key_bytes_;
};

inline Task attention_task(const AttentionTile& tile, std::int64_t keys) {
  return AttentionTasks(tile).of(keys);
}

/// Appends the tasks of a tile whose keys are cut into `parts` shares of as many whole steps: the
/// first ones are full, one has what is left, and the last may have nothing.
inline void append_parts(TaskList& groups, const AttentionTasks& tasks, std::int64_t keys,
                         std::int64_t parts) {
  if (parts == 1) return append_tasks(groups, tasks.of(keys), 1);
  const std::int64_t share = ceil_div(tasks.steps(keys), parts) * tasks.keys_step();
  const std::int64_t full = share > 0 ? std::min(parts, floor_div(keys, share)) : 0;
  append_tasks(groups, tasks.of(share), full);
  if (full == parts) return;
  append_tasks(groups, tasks.of(keys - full * share), 1);
  append_tasks(groups, tasks.of(0), parts - full - 1);
}

/// FlashInfer's merge of split-KV partial results: `chunks` partials a row, runs of rows.
struct MergeRun {
  std::int64_t rows = 0;  // query tokens x query heads
  std::int64_t chunks = 0;
};
Launch merge_states_launch(std::span<const MergeRun> runs, int head_dim, const GpuSpec& gpu);

/// FlashInfer's decode wrapper with CUDA cores, and its prefill kernel, which decode shares.
Decomposition decompose_flashinfer_fa2(const Attention& kernel, const GpuSpec& gpu);
Decomposition decompose_flashinfer_decode(const Attention& kernel, const GpuSpec& gpu);
Decomposition decompose_flashinfer_fa3(const Attention& kernel, const GpuSpec& gpu);
Decomposition decompose_flash_attention_2(const Attention& kernel, const GpuSpec& gpu);
Decomposition decompose_flash_attention_3(const Attention& kernel, const GpuSpec& gpu);
Decomposition decompose_flash_attention_4(const Attention& kernel, const GpuSpec& gpu);
Decomposition decompose_trtllm_attention(const Attention& kernel, const GpuSpec& gpu);
Decomposition decompose_triton_attention(const Attention& kernel, const GpuSpec& gpu);

Decomposition decompose_flash_mla(const Mla& kernel, const GpuSpec& gpu);
Decomposition decompose_flash_attention_3_mla(const Mla& kernel, const GpuSpec& gpu);
Decomposition decompose_trtllm_mla(const Mla& kernel, const GpuSpec& gpu);
Decomposition decompose_triton_mla(const Mla& kernel, const GpuSpec& gpu);

/// Prompts of MiniMax-M3 in Triton: the index of blocks and the attention to those that it picks.
Decomposition decompose_block_index(const KeyIndexer& kernel, const GpuSpec& gpu);
Decomposition decompose_block_attention(const SparseAttention& kernel, const GpuSpec& gpu);

/// Recurrences, other sparse attention, hyper-connections: equal tasks.
Decomposition decompose_state_scan(const StateScan& kernel, const GpuSpec& gpu);
Decomposition decompose_state_convolution(const StateConvolution& kernel, const GpuSpec& gpu);
Decomposition decompose_key_indexer(const KeyIndexer& kernel, const GpuSpec& gpu);
Decomposition decompose_sparse_attention(const SparseAttention& kernel, const GpuSpec& gpu);
Decomposition decompose_hyper_connection(const HyperConnection& kernel, const GpuSpec& gpu);

// ---- matrix products ----------------------------------------------------------------------------

Decomposition decompose_cublas(const Gemm& kernel, const GpuSpec& gpu);
Decomposition decompose_cutlass_gemm(const Gemm& kernel, const GpuSpec& gpu);
Decomposition decompose_deep_gemm(const Gemm& kernel, const GpuSpec& gpu);
Decomposition decompose_cute_dsl_gemm(const Gemm& kernel, const GpuSpec& gpu);
Decomposition decompose_marlin_gemm(const Gemm& kernel, const GpuSpec& gpu);
Decomposition decompose_triton_gemm(const Gemm& kernel, const GpuSpec& gpu);

Decomposition decompose_triton_moe(const FusedMoe& kernel, const GpuSpec& gpu);
Decomposition decompose_grouped_moe(const FusedMoe& kernel, const GpuSpec& gpu);

/// A tile of a matrix product: full tile operations even at the edges, both operands' slices
/// loaded.
Task gemm_task(std::int64_t tile_m, std::int64_t tile_n, std::int64_t k, double bytes_a,
               double bytes_b);

/// Quantises m x k activations to the weights' format before a narrow product: one CTA a row.
Launch quantise_launch(std::int64_t m, std::int64_t k, DType dtype);

}  // namespace foretoken

// FlashAttention-3 for Hopper on a paged cache, as vLLM and SGLang call it: persistent CTAs, one a
// SM, fetch tiles from a counter, which schedules like hardware does with one CTA a SM. Query heads
// of a KV head are packed into a tile; the contexts of few sequences are split, each into as many
// parts as its length deserves. Rules: flash-attention's hopper/ folder, 2025 (tile_size.h,
// heuristics.h, flash_prepare_scheduler.cu). FlashAttention-4 is priced by the same plan.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t fa3_splits_max = 128;

struct Fa3Tile {
  int query = 128, key = 128;
};

/// Caches in pages shorter than a key tile are loaded without TMA, which costs buffer space.
Fa3Tile fa3_tile(const Attention& kernel, bool is_causal) {
  const bool is_local = kernel.window > 0;
  const bool is_paged = kernel.page_tokens > 0;
  const int dim = kernel.head_dim;
  if (kernel.dtype == DType::fp8) {
    if (dim <= 64) return {192, 160};
    if (dim <= 128) return {128, is_paged ? 160 : 224};
    if (dim <= 192) return {128, is_paged && is_local ? 128 : 160};
    return {128, is_local ? 64 : 128};
  }
  if (dim <= 64) return {192, is_causal || is_local || is_paged ? 128 : 192};
  // Of causal launches networks learned with the tile below.
  if (dim <= 96 && !kernel.causal && !is_local && !is_paged) return {192, 144};
  if (dim <= 128) return {128, is_causal || is_local || is_paged ? 128 : 176};
  if (dim <= 192) return {128, is_local || is_paged ? 96 : 112};
  if (dim <= 256) return {128, is_local ? 64 : 80};
  return {128, 64};
}

/// The fewest splits, of `most`, that fill the last wave to 0.85 of what any number of them does.
std::int64_t fewest_splits(std::int64_t ctas, std::int64_t sms, std::int64_t most) {
  constexpr double enough = 0.85;
  std::array<double, fa3_splits_max> fills;  // of the last wave, by splits less 1
  double best = 0, best_below = 0;           // of all; of those that could do only by a poor best
  std::int64_t first = 0;                    // that does whatever the best is: no fill is above 1
  for (std::int64_t splits = 1, waves = 1; splits <= most; ++splits) {
    while (waves * sms < ctas * splits) ++waves;
    const double exact = static_cast<double>(ctas * splits) / static_cast<double>(sms);
    const double fill = exact / static_cast<double>(waves);
    fills[static_cast<std::size_t>(splits - 1)] = fill;
    best = std::max(best, fill);
    if (first == 0 && fill >= enough) first = splits;
    if (first == 0) best_below = std::max(best_below, fill);
    if (first != 0 && best_below < enough * best) return first;
  }
  const auto* const found = std::find_if(fills.begin(), fills.begin() + most,
                                         [&](double fill) { return fill >= enough * best; });
  return found - fills.begin() + 1;
}

/// An upper bound on the splits of a sequence, as if the longest one were alone.
std::int64_t fa3_splits(std::int64_t ctas, std::int64_t sms, std::int64_t key_blocks) {
  if (static_cast<double>(ctas) >= 0.8 * static_cast<double>(sms) || key_blocks <= 4) return 1;
  // Contexts of many blocks ask the same over and over.
  struct Asked {
    std::int64_t ctas = 0, sms = 0, most = 0, answer = 0;
  };
  static thread_local Asked last;
  const std::int64_t most = std::min({fa3_splits_max, sms, key_blocks});
  if (last.ctas != ctas || last.sms != sms || last.most != most)
    last = {ctas, sms, most, fewest_splits(ctas, sms, most)};
  return last.answer;
}

class Fa3 {
 public:
  Fa3(const Attention& kernel, const GpuSpec& gpu, std::optional<Fa3Tile> tile = {})
      : kernel_(kernel),
        gpu_(gpu),
        runs_(slice_runs(kernel.load, LoadPart::all)),
        group_(kernel.query_heads / kernel.kv_heads),
        is_causal_(kernel.causal && kernel.load.prefill.sequences > 0),
        tile_(tile ? *tile : fa3_tile(kernel, is_causal_)) {
    plan_splits();
  }

  Decomposition decompose() {
    Decomposition result;
    Launch launch = attention_launch();
    result.plan = AttentionPlan{.cta_tile_q = tile_.query,
                                .cta_tile_kv = tile_.key,
                                .padded_batch = launch.task_count() / kernel_.kv_heads,
                                .is_split = is_split_};
    result.launches.push_back(std::move(launch));
    if (is_split_) {
      result.launches.push_back(merge_states_launch(merges_, kernel_.head_dim, gpu_));
      result.launches.back().name = "flash_attention_3_combine";
    }
    return result;
  }

 private:
  [[nodiscard]] std::int64_t tiles(const SequenceSlice& slice) const {
    return ceil_div(slice.query_tokens * group_, tile_.query);
  }
  [[nodiscard]] std::int64_t blocks(const SequenceSlice& slice) const {
    const std::int64_t seen = kernel_.window > 0
                                  ? std::min(slice.context_tokens, kernel_.window + tile_.query)
                                  : slice.context_tokens;
    return ceil_div(seen, tile_.key);
  }

  /// A SM's fair share of all blocks, a tenth more: a sequence longer than that is split.
  void plan_splits() {
    std::int64_t tiles_longest = 1;
    std::int64_t blocks_longest = 1;
    double total = 0;
    for (const SliceRun& run : runs_) {
      const std::int64_t own_tiles = tiles(run.slice), own_blocks = blocks(run.slice);
      tiles_longest = std::max(tiles_longest, own_tiles);
      blocks_longest = std::max(blocks_longest, own_blocks);
      total += static_cast<double>(run.count * own_tiles * own_blocks);
    }
    splits_bound_ = fa3_splits(kernel_.kv_heads * tiles_longest, gpu_.sm_count, blocks_longest);
    blocks_sm_ = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::ceil(1.1 * total * kernel_.kv_heads / gpu_.sm_count)));
  }

  [[nodiscard]] std::int64_t splits(const SequenceSlice& slice) const {
    if (splits_bound_ == 1 || blocks_sm_ * tile_.key >= slice.context_tokens) return 1;
    return std::max<std::int64_t>(1, std::min(ceil_div(blocks(slice), blocks_sm_), splits_bound_));
  }

  Launch attention_launch() {
    Launch launch;
    launch.name = "flash_attention_3";
    launch.tensor_dtype = score_dtype(kernel_.dtype);
    launch.repeats = kernel_.kv_heads;
    const double size = bytes_per_element(score_dtype(kernel_.dtype));
    launch.shape = {
        .grid_x = gpu_.sm_count,
        .threads = 128 * (tile_.query / 64 + 1),
        .registers_per_thread = 168,
        .shared_memory = Bytes((tile_.query + 4.0 * tile_.key) * kernel_.head_dim * size)};
    const AttentionTasks cost(attention_tile(kernel_, tile_.query, tile_.key));
    launch.tasks.reserve(runs_.size());
    merges_.reserve(runs_.size());
    for (const SliceRun& run : runs_) {
      const std::int64_t parts = splits(run.slice);
      append_times(launch.tasks, run.count,
                   [&](TaskList& list) { append_sequence(run.slice, parts, cost, list); });
      merges_.push_back({run.count * run.slice.query_tokens * kernel_.query_heads, parts});
      is_split_ = is_split_ || parts > 1;
    }
    return launch;
  }

  /// Longest tile first where a causal mask makes them unequal.
  void append_sequence(const SequenceSlice& slice, std::int64_t parts, const AttentionTasks& cost,
                       TaskList& out) const {
    const std::int64_t count = tiles(slice);
    for (std::int64_t t = count; t-- > 0;) {
      // Most slices are decodes, of one tile, and most of the time would be divisions.
      const std::int64_t first = t == 0 ? 0 : floor_div(t * tile_.query, group_);
      const std::int64_t end =
          t + 1 == count ? slice.query_tokens
                         : std::min(slice.query_tokens, ceil_div((t + 1) * tile_.query, group_));
      const KeySpan seen = visible_keys(slice, first, end, kernel_.causal, kernel_.window);
      append_parts(out, cost, seen.size(), parts);
    }
  }

  const Attention& kernel_;
  const GpuSpec& gpu_;
  SliceRuns runs_;
  std::int64_t group_;
  bool is_causal_;
  Fa3Tile tile_;
  std::int64_t splits_bound_ = 1;
  std::int64_t blocks_sm_ = 1;
  bool is_split_ = false;
  RecycledVector<MergeRun> merges_;
};

}  // namespace

Decomposition decompose_flash_attention_3(const Attention& kernel, const GpuSpec& gpu) {
  return Fa3(kernel, gpu).decompose();
}

Decomposition decompose_flash_attention_4(const Attention& kernel, const GpuSpec& gpu) {
  // Encoders: two tiles of 128 queries a CTA (flash_attn/cute/flash_fwd_sm100.py, 2025).
  const bool is_encoder = !kernel.causal && kernel.head_dim <= 128;
  Decomposition result =
      Fa3(kernel, gpu, is_encoder ? std::optional(Fa3Tile{256, 128}) : std::nullopt).decompose();
  result.launches.front().name = "flash_attention_4";
  if (is_encoder) return result;
  result.approximation =
      "flash_attention_4 by FlashAttention-3's plan with 128x64 tiles: its own tiles are not known "
      "for head_dim 512; operations are right, waves may be off by one";
  return result;
}

}  // namespace foretoken

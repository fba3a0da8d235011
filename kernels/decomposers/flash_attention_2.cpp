// FlashAttention-2 on a paged cache as vLLM (and SGLang on A100) calls it: its split-KV kernel with
// 64 query rows a CTA. A step of decodes only packs a KV head's query heads into one tile and may
// split contexts; anything else, and any window, runs one CTA a query head. Rules: flash-attention
// 2.7, csrc/flash_attn/flash_api.cpp. What it leaves out: fp8 caches, which this kernel cannot
// read.
#include <algorithm>
#include <cmath>

#include "kernels/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr int tile_q = 64;
constexpr int threads = 128;
constexpr std::int64_t splits_max = 128;

int key_tile(int head_dim) { return head_dim <= 64 ? 256 : head_dim <= 128 ? 128 : 64; }

/// The fewest splits that fill the SMs within 85 % of the best filling.
std::int64_t choose_splits(std::int64_t ctas, std::int64_t slots, std::int64_t key_blocks) {
  if (static_cast<double>(ctas) >= 0.8 * static_cast<double>(slots)) return 1;
  const std::int64_t most = std::min({splits_max, slots, key_blocks});
  const auto fills = [&](std::int64_t splits) {
    const double waves = static_cast<double>(ctas * splits) / static_cast<double>(slots);
    return waves / std::ceil(waves);
  };
  const auto changes_blocks = [&](std::int64_t splits) {
    return splits == 1 || ceil_div(key_blocks, splits) != ceil_div(key_blocks, splits - 1);
  };
  double best = 0;
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    if (changes_blocks(splits)) best = std::max(best, fills(splits));
  }
  for (std::int64_t splits = 1; splits <= most; ++splits) {
    if (changes_blocks(splits) && fills(splits) >= 0.85 * best) return splits;
  }
  return 1;
}

}  // namespace

Decomposition decompose_flash_attention_2(const Attention& kernel, const GpuSpec& gpu) {
  const std::vector<SliceRun> runs = slice_runs(kernel.load, LoadPart::all);
  const int tile_kv = key_tile(kernel.head_dim);
  std::int64_t batch = 0;
  std::int64_t queries_max = 0;
  std::int64_t context_max = 1;
  for (const SliceRun& run : runs) {
    batch += run.count;
    queries_max = std::max(queries_max, run.slice.query_tokens);
    context_max = std::max(context_max, run.slice.context_tokens);
  }
  const bool is_packed =
      queries_max == 1 && kernel.query_heads > kernel.kv_heads && kernel.window == 0;
  const std::int64_t group = is_packed ? kernel.query_heads / kernel.kv_heads : 1;
  const std::int64_t heads = kernel.query_heads / group;
  // The host's heuristic counts two CTAs a SM.
  const std::int64_t splits =
      is_packed ? choose_splits(batch * heads, 2 * gpu.sm_count, ceil_div(context_max, tile_kv))
                : 1;

  Launch launch;
  launch.name = "flash_attention_2";
  launch.tensor_dtype = activation_dtype(kernel.dtype);
  launch.repeats = heads;
  launch.shape = {.grid_x = ceil_div(queries_max * group, tile_q),
                  .grid_y = splits,
                  .grid_z = batch * heads,
                  .threads = threads,
                  .registers_per_thread = 255,
                  .shared_memory = Bytes((tile_q + 2.0 * tile_kv) * kernel.head_dim *
                                         activation_bytes(kernel.dtype))};
  const AttentionTile tile = attention_tile(kernel, tile_q, tile_kv);
  std::vector<MergeRun> merges;
  std::vector<TaskGroup> one;
  for (const SliceRun& run : runs) {
    const SequenceSlice& slice = run.slice;
    one.clear();
    for (std::int64_t t = 0; t < ceil_div(slice.query_tokens * group, tile_q); ++t) {
      const std::int64_t end = std::min(slice.query_tokens, ceil_div((t + 1) * tile_q, group));
      const KeySpan seen =
          visible_keys(slice, t * tile_q / group, end, kernel.causal, kernel.window);
      const std::int64_t share = ceil_div(ceil_div(seen.size(), tile_kv), splits) * tile_kv;
      for (std::int64_t s = 0; s < splits; ++s) {
        const std::int64_t begin = seen.begin + s * share;
        append_tasks(one, attention_task(tile, overlap(seen, {begin, begin + share})), 1);
      }
    }
    append_list(launch.tasks, one, run.count);
    merges.push_back({run.count * slice.query_tokens * kernel.query_heads, splits});
  }
  Decomposition result;
  result.plan =
      AttentionPlan{.cta_tile_q = tile_q,
                    .cta_tile_kv = tile_kv,
                    .padded_batch = launch.task_count() / heads,
                    .is_split = splits > 1,
                    .kv_chunk = ceil_div(ceil_div(context_max, tile_kv), splits) * tile_kv};
  result.launches.push_back(std::move(launch));
  if (splits > 1) {
    result.launches.push_back(merge_states_launch(merges, kernel.head_dim, gpu));
    result.launches.back().name = "flash_attention_2_combine";
  }
  if (bytes_per_element(kernel.kv_dtype) < 2) {
    result.approximation =
        "flash_attention_2 cannot read an 8-bit cache: counted as if it could, at 8-bit traffic";
  }
  return result;
}

}  // namespace foretoken

// FlashAttention-2. On a paged cache, as vLLM (and SGLang on A100) calls it: its split-KV kernel
// with 64 query rows a CTA. A step of decodes only packs a KV head's query heads into one tile and
// may split contexts; anything else, and any window, runs one CTA a query head. With keys in one
// piece, as PyTorch and the frameworks' image encoders call it: larger tiles by head size, and of
// PyTorch's dense batches splits for small batches of prompts too. Rules: flash-attention 2.7,
// csrc/flash_attn/flash_api.cpp. What it leaves out: fp8 caches, which this kernel cannot read.
#include <algorithm>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/tasks/decomposers/decomposer.hpp"

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

// ---- keys and values in one piece: PyTorch, encoders
// ----------------------------------------------

/// Sequences of one length, all prompt or all decode: a dense batch, which may be split. Any other
/// mix goes through the interface for variable lengths, which may not unless it only decodes.
bool is_dense(const SliceRuns& runs) {
  if (runs.size() != 1) return false;
  const SequenceSlice& slice = runs.front().slice;
  return slice.query_tokens == 1 || slice.query_tokens == slice.context_tokens;
}

struct DenseTile {
  int rows = 128, keys = 64;
  int threads = 128;
};

/// flash_fwd_launch_template.h without dropout. Compute capabilities 8.6 and 8.9 have a third of
/// the shared memory; head_dim 256 takes the larger tile where only one CTA fits in any case.
DenseTile dense_tile(int head_dim, bool is_causal, const GpuSpec& gpu) {
  const bool is_small_ampere = gpu.compute_capability > ampere && gpu.compute_capability < hopper;
  if (head_dim <= 64) return {128, 128, 128};
  if (head_dim <= 128 && is_small_ampere)
    return is_causal ? DenseTile{64, 64, 128} : DenseTile{128, 32, 128};
  if (head_dim <= 128) return {128, 64, 128};
  if (head_dim <= 192) return {128, 64, 256};
  const double two_ctas = 4.0 * head_dim * (64 + 2 * 64);
  return gpu.shared_size_sm.value() < two_ctas ? DenseTile{128, 64, 256} : DenseTile{64, 64, 128};
}

/// One head's tiles of every sequence, the first tile first; a grid is as wide as the longest
/// sequence needs, and CTAs beyond a shorter one's end leave at once.
void append_dense_head(const SliceRuns& runs, const AttentionTile& tile, const Attention& kernel,
                       bool is_causal, std::int64_t columns, TaskList& tasks) {
  const AttentionTasks cost(tile);
  for (const SliceRun& run : runs) {
    const std::int64_t used = ceil_div(run.slice.query_tokens, tile.rows);
    append_times(tasks, run.count, [&](TaskList& list) {
      for (std::int64_t t = 0; t < used; ++t) {
        const std::int64_t end = std::min(run.slice.query_tokens, (t + 1) * tile.rows);
        const KeySpan seen = visible_keys(run.slice, t * tile.rows, end, is_causal, kernel.window);
        append_tasks(list, cost.of(seen.size()), 1);
      }
      append_tasks(list, Task{}, columns - used);
    });
  }
}

/// Splits of a sequence cut its whole context, whatever a causal tile sees of it: split by split,
/// the tiles of each.
void append_split_sequence(const SequenceSlice& slice, const AttentionTile& tile,
                           const Attention& kernel, bool is_causal, std::int64_t splits,
                           TaskList& tasks) {
  const std::int64_t share =
      ceil_div(ceil_div(slice.context_tokens, tile.keys_step), splits) * tile.keys_step;
  for (std::int64_t s = 0; s < splits; ++s) {
    for (std::int64_t t = 0; t < ceil_div(slice.query_tokens, tile.rows); ++t) {
      const std::int64_t end = std::min(slice.query_tokens, (t + 1) * tile.rows);
      const KeySpan seen = visible_keys(slice, t * tile.rows, end, is_causal, kernel.window);
      append_tasks(tasks, attention_task(tile, overlap(seen, {s * share, (s + 1) * share})), 1);
    }
  }
}

Launch combine_launch(std::int64_t rows, std::int64_t splits, int head_dim) {
  const std::int64_t rows_cta = head_dim % 128 == 0 ? 4 : head_dim % 64 == 0 ? 8 : 16;
  const auto partials = static_cast<double>(rows_cta * splits);
  Task task;
  task.bytes_loaded = partials * (head_dim + 1) * 4;  // fp32, and the log-sum-exps
  task.fma_ops = partials * head_dim;
  task.xu_ops = partials;
  Launch launch =
      uniform_launch("flash_attention_2_combine", task, ceil_div(rows, rows_cta), threads, 40);
  launch.joins_parts = true;
  return launch;
}

/// PyTorch's own copy of FlashAttention-2 (2.11:
/// aten/src/ATen/native/transformers/cuda/flash_attn), and flash_attn_varlen_func without pages,
/// which never splits.
Decomposition decompose_dense(const Attention& kernel, const GpuSpec& gpu) {
  SliceRuns runs = slice_runs(kernel.load, LoadPart::all);
  std::int64_t batch = 0;
  std::int64_t queries_max = 0;
  for (const SliceRun& run : runs) {
    batch += run.count;
    queries_max = std::max(queries_max, run.slice.query_tokens);
  }
  const bool is_pytorch = kernel.implementation.framework == Framework::pytorch;
  const bool may_split = is_pytorch && (is_dense(runs) || queries_max == 1);
  const bool is_packed =
      queries_max == 1 && kernel.query_heads > kernel.kv_heads && kernel.window == 0;
  const std::int64_t group = is_packed ? kernel.query_heads / kernel.kv_heads : 1;
  const std::int64_t heads = kernel.query_heads / group;
  const bool is_causal = kernel.causal && queries_max > 1;
  std::int64_t splits = 1;
  if (may_split) {
    std::int64_t context_max = 1;
    for (const SliceRun& run : runs) context_max = std::max(context_max, run.slice.context_tokens);
    splits = choose_splits(batch * heads * ceil_div(queries_max * group, tile_q), 2 * gpu.sm_count,
                           ceil_div(context_max, key_tile(kernel.head_dim)));
  }
  if (is_packed) {
    // A decode's query heads are the rows of its tile, and all of them see all keys.
    for (SliceRun& run : runs) run.slice.query_tokens = group;
    queries_max = group;
  }
  const bool is_split = splits > 1;
  const DenseTile shape = is_split ? DenseTile{tile_q, key_tile(kernel.head_dim), threads}
                                   : dense_tile(kernel.head_dim, is_causal, gpu);
  const std::int64_t columns = ceil_div(queries_max, shape.rows);
  const AttentionTile tile = attention_tile(kernel, shape.rows, shape.keys);

  Launch launch;
  launch.name = is_split ? "flash_attention_2_split" : "flash_attention_2_dense";
  launch.tensor_dtype = activation_dtype(kernel.dtype);
  launch.repeats = heads;
  launch.shape = {.grid_x = columns,
                  .grid_y = is_split ? splits : batch,
                  .grid_z = is_split ? batch * heads : heads,
                  .threads = shape.threads,
                  .registers_per_thread = 255,
                  .shared_memory = Bytes((shape.rows + 2.0 * shape.keys) * kernel.head_dim *
                                         activation_bytes(kernel.dtype))};
  if (is_split) {
    TaskList one;
    for (const SliceRun& run : runs) {
      one.clear();
      append_split_sequence(run.slice, tile, kernel, is_causal, splits, one);
      append_list(launch.tasks, one, runs.size() == 1 ? 1 : run.count * heads);
    }
    launch.repeats = runs.size() == 1 ? batch * heads : 1;
  } else {
    append_dense_head(runs, tile, kernel, is_causal, columns, launch.tasks);
  }
  Decomposition result;
  result.plan = AttentionPlan{.cta_tile_q = shape.rows,
                              .cta_tile_kv = shape.keys,
                              .padded_batch = launch.task_count() / heads,
                              .is_split = is_split};
  result.launches.push_back(std::move(launch));
  if (is_split) {
    result.launches.push_back(combine_launch(batch * heads * queries_max, splits, kernel.head_dim));
  }
  return result;
}

}  // namespace

Decomposition decompose_flash_attention_2(const Attention& kernel, const GpuSpec& gpu) {
  const bool is_encoder = !kernel.causal && kernel.page_tokens == 0;
  if (kernel.implementation.framework == Framework::pytorch || is_encoder) {
    return decompose_dense(kernel, gpu);
  }
  const SliceRuns runs = slice_runs(kernel.load, LoadPart::all);
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
  const AttentionTasks cost(attention_tile(kernel, tile_q, tile_kv));
  std::vector<MergeRun> merges;
  launch.tasks.reserve(runs.size() + 16);  // and the tiles of a prompt
  for (const SliceRun& run : runs) {
    const SequenceSlice& slice = run.slice;
    append_times(launch.tasks, run.count, [&](TaskList& list) {
      const std::int64_t tiles = ceil_div(slice.query_tokens * group, tile_q);
      for (std::int64_t t = 0; t < tiles; ++t) {
        const std::int64_t end = std::min(slice.query_tokens, ceil_div((t + 1) * tile_q, group));
        const KeySpan seen =
            visible_keys(slice, t * tile_q / group, end, kernel.causal, kernel.window);
        append_parts(list, cost, seen.size(), splits);
      }
    });
    if (splits > 1) {
      merges.push_back({run.count * slice.query_tokens * kernel.query_heads, splits});
    }
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

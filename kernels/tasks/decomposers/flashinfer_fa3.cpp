// FlashInfer's FA3 prefill for Hopper (0.6.18; the rules are those of 0.4.1): one persistent CTA a
// SM walks a list of (query tile, query head) that the host made up beforehand, always giving the
// next tile to the CTA with least to do (least_loaded_heap.hpp: ties fall as they do there).
#include <algorithm>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t works_max = 4096;  // beyond it all heads share one schedule
constexpr double barriers_bytes = 80;     // pipeline barriers behind the operand buffers
constexpr int warpgroup_warps = 4;
constexpr int fa3_stages = 2;

int fa3_key_tile(const Attention& kernel) {
  const bool is_paged = kernel.page_tokens > 0;
  if (kernel.head_dim <= 64) return is_paged ? 96 : 128;
  if (kernel.head_dim >= 256) return is_paged ? 32 : 64;
  if (is_paged) return 96;
  return kernel.causal || kernel.head_dim > 128 ? 128 : 192;
}

/// Longest context first. Not a stable sort in FlashInfer either: ties must fall alike.
std::vector<SequenceSlice> by_context(const SliceRuns& runs) {
  std::vector<SequenceSlice> slices;
  for (const SliceRun& run : runs) {
    slices.insert(slices.end(), static_cast<std::size_t>(run.count), run.slice);
  }
  std::sort(slices.begin(), slices.end(), [](const SequenceSlice& a, const SequenceSlice& b) {
    return a.context_tokens > b.context_tokens;
  });
  return slices;
}

/// Appends the tiles of one slice, the last first: what each costs and what it is reckoned to.
void append_tiles(const SequenceSlice& slice, const Attention& kernel, const AttentionTile& tile,
                  Launch& launch) {
  for (std::int64_t t = ceil_div(slice.query_tokens, tile.rows); t-- > 0;) {
    const std::int64_t first = t * tile.rows;
    const std::int64_t end = std::min(slice.query_tokens, first + tile.rows);
    const KeySpan causal = visible_keys(slice, first, end, kernel.causal, 0);
    const KeySpan seen = visible_keys(slice, first, end, kernel.causal, kernel.window);
    const TaskGroup group{attention_task(tile, seen.size()), 1};
    const auto cost = static_cast<float>(2 * tile.rows + causal.size());
    if (!launch.tasks.empty() && launch.tasks.back().task == group.task &&
        launch.costs.back() == cost) {
      ++launch.tasks.back().count;
    } else {
      launch.tasks.push_back(group);
      launch.costs.push_back(cost);
    }
  }
}

}  // namespace

Decomposition decompose_flashinfer_fa3(const Attention& kernel, const GpuSpec& gpu) {
  const int tile_q = kernel.head_dim <= 64 ? 192 : 128;
  const int tile_kv = fa3_key_tile(kernel);
  const AttentionTile tile = attention_tile(kernel, tile_q, tile_kv);
  const double size = activation_bytes(kernel.dtype);
  std::int64_t rows = 0;
  std::int64_t batch = 0;
  std::int64_t works = 0;
  const SliceRuns runs = slice_runs(kernel.load, LoadPart::all);
  for (const SliceRun& run : runs) {
    rows += run.count * run.slice.query_tokens;
    batch += run.count;
    works += run.count * ceil_div(run.slice.query_tokens, tile_q);
  }
  const bool is_shared = ceil_div(rows, tile_q) + batch - 1 > works_max;

  Launch launch;
  launch.name = "fa3_prefill";
  launch.scheduling = Scheduling::least_loaded;
  launch.tensor_dtype = score_dtype(kernel.dtype);
  launch.repeats = kernel.query_heads;
  launch.are_passes_alike = is_shared;
  if (runs.size() == 1 && !is_shared) {
    launch.repeats *= batch;  // equal requests follow each other as heads do
    append_tiles(runs[0].slice, kernel, tile, launch);
  } else {
    for (const SequenceSlice& slice : by_context(runs)) append_tiles(slice, kernel, tile, launch);
  }
  launch.shape = {
      .grid_x = gpu.sm_count,
      .grid_y = is_shared ? kernel.query_heads : 1,
      .threads = 32 * warpgroup_warps * (tile_q / 64 + 1),
      .registers_per_thread = 168,
      .shared_memory =
          Bytes((tile_q + 2.0 * fa3_stages * tile_kv) * kernel.head_dim * size + barriers_bytes)};
  Decomposition result;
  result.plan = AttentionPlan{
      .cta_tile_q = tile_q, .cta_tile_kv = tile_kv, .padded_batch = works * kernel.query_heads};
  result.launches.push_back(std::move(launch));
  return result;
}

}  // namespace foretoken

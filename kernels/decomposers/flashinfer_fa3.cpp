// FlashInfer's FA3 prefill for Hopper (0.6.18; the rules are those of 0.4.1): one persistent CTA a
// SM walks a list of (query tile, query head) that the host made up beforehand, always giving the
// next tile to the CTA with least to do. Ties fall as std::push_heap and std::pop_heap let them.
#include <algorithm>

#include "kernels/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t works_max = 4096;  // beyond it all heads share one schedule
constexpr double barriers_bytes = 80;     // pipeline barriers behind the operand buffers
constexpr int warpgroup_warps = 4;
constexpr int stages = 2;

int key_tile(const Attention& kernel) {
  const bool is_paged = kernel.page_tokens > 0;
  if (kernel.head_dim <= 64) return is_paged ? 96 : 128;
  if (kernel.head_dim >= 256) return is_paged ? 32 : 64;
  if (is_paged) return 96;
  return kernel.causal || kernel.head_dim > 128 ? 128 : 192;
}

/// (CTA, cost) by cost in float32, as FlashInfer keeps it.
class CtaHeap {
 public:
  explicit CtaHeap(int ctas) {
    for (int cta = 0; cta < ctas; ++cta) entries_.push_back({0.0F, cta});
  }
  /// The CTA with least to do gets `cost` more.
  std::uint16_t give(float cost) {
    std::pop_heap(entries_.begin(), entries_.end(), costs_more);
    Entry& taken = entries_.back();
    const auto cta = static_cast<std::uint16_t>(taken.cta);
    taken.cost += cost;
    std::push_heap(entries_.begin(), entries_.end(), costs_more);
    return cta;
  }

 private:
  struct Entry {
    float cost;
    int cta;
  };
  static bool costs_more(const Entry& a, const Entry& b) { return a.cost > b.cost; }
  std::vector<Entry> entries_;
};

/// Longest context first. Not a stable sort in FlashInfer either: ties must fall alike.
std::vector<SequenceSlice> by_context(const AttentionLoad& load) {
  std::vector<SequenceSlice> slices;
  for (const SliceRun& run : slice_runs(load, LoadPart::all)) {
    slices.insert(slices.end(), static_cast<std::size_t>(run.count), run.slice);
  }
  std::sort(slices.begin(), slices.end(), [](const SequenceSlice& a, const SequenceSlice& b) {
    return a.context_tokens > b.context_tokens;
  });
  return slices;
}

}  // namespace

Decomposition decompose_flashinfer_fa3(const Attention& kernel, const GpuSpec& gpu) {
  const int tile_q = kernel.head_dim <= 64 ? 192 : 128;
  const int tile_kv = key_tile(kernel);
  const AttentionTile tile = attention_tile(kernel, tile_q, tile_kv);
  const double size = activation_bytes(kernel.dtype);

  Launch launch;
  launch.name = "fa3_prefill";
  launch.scheduling = Scheduling::assigned;
  launch.tensor_dtype = score_dtype(kernel.dtype);
  launch.repeats = kernel.query_heads;
  std::vector<float> costs;
  std::int64_t rows = 0;
  const std::vector<SequenceSlice> slices = by_context(kernel.load);
  for (const SequenceSlice& slice : slices) {
    rows += slice.query_tokens;
    for (std::int64_t t = ceil_div(slice.query_tokens, tile_q); t-- > 0;) {
      const std::int64_t first = t * tile_q;
      const std::int64_t end = std::min(slice.query_tokens, first + tile_q);
      const KeySpan causal = visible_keys(slice, first, end, kernel.causal, 0);
      const KeySpan seen = visible_keys(slice, first, end, kernel.causal, kernel.window);
      append_tasks(launch.tasks, attention_task(tile, seen.size()), 1);
      costs.push_back(static_cast<float>(2 * tile_q + causal.size()));
    }
  }
  const auto batch = static_cast<std::int64_t>(slices.size());
  const bool is_shared = ceil_div(rows, tile_q) + batch - 1 > works_max;
  launch.shape = {.grid_x = gpu.sm_count,
                  .grid_y = is_shared ? kernel.query_heads : 1,
                  .threads = 32 * warpgroup_warps * (tile_q / 64 + 1),
                  .registers_per_thread = 168,
                  .shared_memory = Bytes(
                      (tile_q + 2.0 * stages * tile_kv) * kernel.head_dim * size + barriers_bytes)};
  launch.assigned_cta.reserve(costs.size() * static_cast<std::size_t>(launch.repeats));
  CtaHeap heap(gpu.sm_count);
  for (int head = 0; head < kernel.query_heads; ++head) {
    for (std::size_t work = 0; work < costs.size(); ++work) {
      const bool is_copy = is_shared && head > 0;
      launch.assigned_cta.push_back(is_copy ? launch.assigned_cta[work] : heap.give(costs[work]));
    }
  }
  Decomposition result;
  result.plan =
      AttentionPlan{.cta_tile_q = tile_q,
                    .cta_tile_kv = tile_kv,
                    .padded_batch = static_cast<std::int64_t>(costs.size()) * kernel.query_heads};
  result.launches.push_back(std::move(launch));
  return result;
}

}  // namespace foretoken

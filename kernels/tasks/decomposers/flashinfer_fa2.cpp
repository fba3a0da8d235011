// FlashInfer's FA2 kernel (0.6.18; the rules are those of 0.4.1), used for prefill and, with one
// query a sequence, for decode on tensor cores. Query heads of a KV head share its tiles. The plan
// splits long contexts so that CTAs fill two rounds of SMs; registers are those of the sm_90 build.
// What it leaves out: padding to CUDA-graph sizes, fused rotary embedding, custom masks.
#include <algorithm>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t fa2_chunk_tokens_min = 128;
constexpr std::int64_t ctas_per_sm_target = 2;
constexpr int fa2_warp_threads = 32;

struct Fa2Shape {
  int tile_q = 0, tile_kv = 0;
  int query_warps = 0, key_warps = 0;
  double shared_bytes = 0;
};

int tile_q_for(std::int64_t mean_packed_queries, int head_dim) {
  if (mean_packed_queries > 64 && head_dim < 256) return 128;
  return mean_packed_queries > 16 ? 64 : 16;
}

/// Keys a step: as many 16-key MMA tiles (1, 2, 4 or 8) as registers and half an SM's shared memory
/// (all of it where two CTAs cannot fit) take.
Fa2Shape fa2_shape(int tile_q, const Attention& kernel, const GpuSpec& gpu) {
  Fa2Shape shape;
  shape.tile_q = tile_q;
  shape.query_warps = tile_q > 16 ? 4 : 1;
  shape.key_warps = tile_q > 16 ? 1 : 4;
  const double queries = tile_q * kernel.head_dim * activation_bytes(kernel.dtype);
  const double key_tile =
      2.0 * kernel.head_dim * 16 * shape.key_warps * bytes_per_element(kernel.kv_dtype);
  const double shared_sm = gpu.shared_size_sm.value();
  const double shared_cta = shared_sm >= 2 * (queries + key_tile) ? shared_sm / 2 : shared_sm;
  const int by_registers = tile_q > 64 ? 4 : 8;
  const int by_shared = static_cast<int>((shared_cta - queries) / key_tile);
  int key_tiles = 1;
  while (key_tiles * 2 <= std::min(by_registers, by_shared)) key_tiles *= 2;
  shape.tile_kv = 16 * key_tiles * shape.key_warps;
  shape.shared_bytes = queries + key_tile * key_tiles;
  return shape;
}

int fa2_registers(int tile_q, int head_dim, bool is_paged) {
  if (head_dim <= 64) return tile_q == 128 ? 225 : tile_q == 64 ? 255 : is_paged ? 237 : 156;
  if (tile_q > 16) return 255;
  return is_paged ? 178 : 168;
}

/// What the plan knows of a run of equal sequences. Lengths of contexts are in pages.
struct Fa2Request {
  SliceRun run;
  std::int64_t tiles = 0;
  std::int64_t pages = 0;
};

std::int64_t fa2_work_items(const std::vector<Fa2Request>& requests, std::int64_t chunk_pages) {
  std::int64_t items = 0;
  for (const Fa2Request& request : requests) {
    items += request.run.count * request.tiles * ceil_div(request.pages, chunk_pages);
  }
  return items;
}

/// The shortest chunk, in pages, with which the work fits `items_max`.
std::int64_t smallest_chunk(const std::vector<Fa2Request>& requests, std::int64_t low,
                            std::int64_t high, std::int64_t items_max) {
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (fa2_work_items(requests, middle) > items_max) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// SGLang 0.5's choice where nobody names the kernel: tensor cores from groups of four query heads
/// on, and for caches below 16 bit.
bool decodes_on_cuda_cores(const Attention& kernel) {
  constexpr int tensor_core_group_min = 4;
  const AttentionLoad& load = kernel.load;
  return kernel.implementation.framework == Framework::sglang &&
         kernel.implementation.source != KernelSource::flashinfer_decode_tc &&
         load.prefill.sequences == 0 && load.decode.sequences > 0 && !load.verifies_drafts() &&
         kernel.query_heads < tensor_core_group_min * kernel.kv_heads &&
         bytes_per_element(kernel.kv_dtype) >= 2;
}

class Fa2 {
 public:
  Fa2(const Attention& kernel, const GpuSpec& gpu)
      : kernel_(kernel), gpu_(gpu), group_(kernel.query_heads / kernel.kv_heads) {
    page_ = std::max(1, kernel.page_tokens);
    read_requests();
    plan_chunks();
  }

  Decomposition decompose() {
    Decomposition result;
    result.plan = AttentionPlan{.cta_tile_q = shape_.tile_q,
                                .cta_tile_kv = shape_.tile_kv,
                                .padded_batch = items_,
                                .is_split = is_split_,
                                .kv_chunk = chunk_pages_ * page_};
    result.launches.push_back(attention_launch());
    if (is_split_) result.launches.push_back(merge_launch());
    return result;
  }

 private:
  void read_requests() {
    std::int64_t packed = 0;
    std::int64_t batch = 0;
    for (const SliceRun& run : slice_runs(kernel_.load, LoadPart::all)) {
      packed += run.count * run.slice.query_tokens * group_;
      batch += run.count;
      requests_.push_back({run, 0, 0});
    }
    shape_ = fa2_shape(tile_q_for(packed / std::max<std::int64_t>(1, batch), kernel_.head_dim),
                       kernel_, gpu_);
    const std::int64_t reach = ceil_div(kernel_.window + shape_.tile_q, page_);
    for (Fa2Request& request : requests_) {
      request.tiles = ceil_div(request.run.slice.query_tokens * group_, shape_.tile_q);
      request.pages = std::max<std::int64_t>(1, ceil_div(request.run.slice.context_tokens, page_));
      if (kernel_.window > 0) request.pages = std::min(request.pages, reach);
    }
  }

  void plan_chunks() {
    std::int64_t longest = 1;
    for (const Fa2Request& request : requests_) longest = std::max(longest, request.pages);
    const std::int64_t low = std::max<std::int64_t>(1, fa2_chunk_tokens_min / page_);
    chunk_pages_ = smallest_chunk(requests_, low, longest,
                                  ctas_per_sm_target * gpu_.sm_count / kernel_.kv_heads);
    is_split_ = chunk_pages_ < longest;
    items_ = fa2_work_items(requests_, chunk_pages_);
  }

  [[nodiscard]] std::int64_t chunks(const Fa2Request& request) const {
    return ceil_div(request.pages, chunk_pages_);
  }

  void append_request(const Fa2Request& request, const AttentionTile& tile, TaskList& out) const {
    const SequenceSlice& slice = request.run.slice;
    const std::int64_t chunk = chunk_pages_ * page_;
    const std::int64_t chunk_count = chunks(request);
    for (std::int64_t t = 0; t < request.tiles; ++t) {
      const std::int64_t first = t * shape_.tile_q / group_;
      const std::int64_t end =
          std::min(slice.query_tokens, ceil_div((t + 1) * shape_.tile_q, group_));
      const KeySpan seen = visible_keys(slice, first, end, kernel_.causal, kernel_.window);
      const std::int64_t origin = kernel_.window > 0 ? seen.begin : 0;
      for (std::int64_t c = 0; c < chunk_count; ++c) {
        const std::int64_t begin = origin + c * chunk;
        const std::int64_t limit = c + 1 == chunk_count ? seen.end : begin + chunk;
        append_tasks(out, attention_task(tile, overlap(seen, {begin, limit})), 1);
      }
    }
  }

  Launch attention_launch() const {
    const bool is_paged = kernel_.page_tokens > 0;
    Launch launch;
    launch.name = "fa2_prefill";
    launch.tensor_dtype = activation_dtype(kernel_.dtype);
    launch.repeats = kernel_.kv_heads;
    launch.shape = {
        .grid_x = items_,
        .grid_z = kernel_.kv_heads,
        .threads = fa2_warp_threads * shape_.query_warps * shape_.key_warps,
        .registers_per_thread = fa2_registers(shape_.tile_q, kernel_.head_dim, is_paged),
        .shared_memory = Bytes(shape_.shared_bytes)};
    AttentionTile tile = attention_tile(kernel_, shape_.tile_q, shape_.tile_kv);
    TaskList one;
    for (const Fa2Request& request : requests_) {
      one.clear();
      append_request(request, tile, one);
      append_list(launch.tasks, one, request.run.count);
    }
    return launch;
  }

  Launch merge_launch() const {
    std::vector<MergeRun> runs;
    for (const Fa2Request& request : requests_) {
      const SliceRun& run = request.run;
      runs.push_back({run.count * run.slice.query_tokens * kernel_.query_heads, chunks(request)});
    }
    return merge_states_launch(runs, kernel_.head_dim, gpu_);
  }

  const Attention& kernel_;
  const GpuSpec& gpu_;
  std::int64_t group_;
  std::int64_t page_ = 1;
  std::vector<Fa2Request> requests_;
  Fa2Shape shape_;
  std::int64_t chunk_pages_ = 1;
  std::int64_t items_ = 0;
  bool is_split_ = false;
};

}  // namespace

Decomposition decompose_flashinfer_fa2(const Attention& kernel, const GpuSpec& gpu) {
  if (decodes_on_cuda_cores(kernel)) return decompose_flashinfer_decode(kernel, gpu);
  return Fa2(kernel, gpu).decompose();
}

}  // namespace foretoken

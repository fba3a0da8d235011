// FlashInfer's decode kernel on CUDA cores (0.6.18; the rules are those of 0.4.1): a CTA takes one
// sequence's chunk for one KV head, all query heads of the group together. The plan splits contexts
// until one round of CTAs fills the GPU. Registers are those of the sm_90 build.
#include <algorithm>

#include "kernels/tasks/decomposers/decomposer.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

constexpr std::int64_t decode_chunk_tokens_min = 128;
constexpr int decode_stages = 2;
constexpr double decode_softmax_fma = 4;  // as in attention_tasks.cpp, in each thread of a row

struct DecodeShape {
  LaunchShape launch;
  int threads_row = 16;
};

DecodeShape decode_shape(const Attention& kernel) {
  const int group = kernel.query_heads / kernel.kv_heads;
  const double key_size = bytes_per_element(kernel.kv_dtype);
  const int vector = std::max(static_cast<int>(16 / key_size), kernel.head_dim / 32);
  const int threads_row = kernel.head_dim / vector;
  const int threads = std::max(128, threads_row * group);
  const int rows_z = threads / (threads_row * group);
  const int tile = group > 1 ? 1 : key_size == 1 ? 2 : 4;
  const double keys = 2.0 * decode_stages * tile * group * rows_z * kernel.head_dim * key_size;
  const double exchange = std::max(tile * threads * 8, 2 * group * rows_z * 4);
  DecodeShape shape;
  shape.threads_row = threads_row;
  shape.launch.threads = threads_row * group * rows_z;
  shape.launch.registers_per_thread = group == 1 ? 68 : group == 2 ? 51 : 56;
  shape.launch.shared_memory = Bytes(keys + exchange);
  return shape;
}

Task decode_task(const Attention& kernel, int threads_row, std::int64_t keys) {
  const double group = kernel.query_heads / kernel.kv_heads;
  const double scores = group * static_cast<double>(keys);
  Task task;
  task.fma_ops = scores * (2.0 * kernel.head_dim + decode_softmax_fma * threads_row);
  task.xu_ops = scores * threads_row;  // every thread of a row computes its exponentials
  task.bytes_loaded =
      group * kernel.head_dim * activation_bytes(kernel.dtype) +
      static_cast<double>(keys) * 2 * kernel.head_dim * bytes_per_element(kernel.kv_dtype);
  return task;
}

std::int64_t chunk_count(const SliceRun& run, std::int64_t page, std::int64_t chunk_pages) {
  const std::int64_t pages = ceil_div(run.slice.context_tokens, page);
  return ceil_div(std::max<std::int64_t>(1, pages), chunk_pages);
}

std::int64_t decode_work_items(const SliceRuns& runs, std::int64_t page, std::int64_t chunk_pages) {
  std::int64_t items = 0;
  for (const SliceRun& run : runs) items += run.count * chunk_count(run, page, chunk_pages);
  return items;
}

/// The shortest chunk, in pages, with which one round of CTAs takes everything.
std::int64_t plan_chunk(const SliceRuns& runs, std::int64_t page, int kv_heads,
                        std::int64_t ctas_max) {
  std::int64_t batch = 0;
  std::int64_t high = 1;
  for (const SliceRun& run : runs) {
    batch += run.count;
    high = std::max(high, ceil_div(run.slice.context_tokens, page));
  }
  if (batch * kv_heads >= ctas_max) return high;
  std::int64_t low = std::max<std::int64_t>(1, decode_chunk_tokens_min / page);
  while (low < high) {
    const std::int64_t middle = (low + high) / 2;
    if (decode_work_items(runs, page, middle) * kv_heads > ctas_max) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

Decomposition decompose_flashinfer_decode(const Attention& kernel, const GpuSpec& gpu) {
  if (kernel.load.prefill.sequences > 0 || kernel.load.verifies_drafts()) {
    return decompose_flashinfer_fa2(kernel, gpu);
  }
  const SliceRuns runs = slice_runs(kernel.load, LoadPart::all);
  const std::int64_t page = std::max(1, kernel.page_tokens);
  DecodeShape shape = decode_shape(kernel);
  const std::int64_t resident = std::max(1, resident_ctas(shape.launch, gpu));
  const std::int64_t chunk = plan_chunk(runs, page, kernel.kv_heads, resident * gpu.sm_count);
  const std::int64_t items = decode_work_items(runs, page, chunk);

  Launch launch;
  launch.name = "flashinfer_decode";
  launch.repeats = kernel.kv_heads;
  launch.shape = shape.launch;
  launch.shape.grid_x = items;
  launch.shape.grid_y = kernel.kv_heads;
  std::vector<MergeRun> merges;
  std::int64_t batch = 0;
  TaskList one;
  for (const SliceRun& run : runs) {
    const std::int64_t chunks = chunk_count(run, page, chunk);
    const KeySpan seen = visible_keys(run.slice, 0, 1, kernel.causal, kernel.window);
    one.clear();
    for (std::int64_t c = 0; c < chunks; ++c) {
      const std::int64_t begin = c * chunk * page;
      const std::int64_t keys = overlap(seen, {begin, begin + chunk * page});
      append_tasks(one, decode_task(kernel, shape.threads_row, keys), 1);
    }
    append_list(launch.tasks, one, run.count);
    merges.push_back({run.count * kernel.query_heads, chunks});
    batch += run.count;
  }
  Decomposition result;
  result.plan =
      AttentionPlan{.padded_batch = items, .is_split = items != batch, .kv_chunk = chunk * page};
  result.launches.push_back(std::move(launch));
  if (items != batch) result.launches.push_back(merge_states_launch(merges, kernel.head_dim, gpu));
  return result;
}

}  // namespace foretoken

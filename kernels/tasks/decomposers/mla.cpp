// DeepSeek's latent attention. Decode runs on the compressed cache with the up-projections
// absorbed: one 576-wide key that all heads share, whose first 512 values are the value. FlashMLA
// (Hopper) cuts all key blocks into equal runs, one for each group of CTAs; Triton runs a CTA for
// 16 heads and a fixed number of splits. Prefill runs unabsorbed, as ordinary attention with
// 192-wide keys and 128-wide values for each head.
#include <algorithm>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr int prefill_tile_q = 128;
constexpr int prefill_tile_kv = 128;
constexpr int flash_mla_rows = 64;  // query heads (times tokens) a CTA
constexpr int flash_mla_keys = 64;  // a cache page
constexpr int triton_heads = 16;
constexpr int triton_keys = 32;
constexpr int triton_splits = 4;

AttentionTile absorbed_tile(const Mla& kernel, std::int64_t rows, std::int64_t keys_step) {
  const double key_dim = kernel.latent_dim + kernel.rope_dim;
  return {.rows = rows,
          .keys_step = keys_step,
          .score_dim = key_dim,
          .value_dim = static_cast<double>(kernel.latent_dim),
          .query_bytes = key_dim * activation_bytes(kernel.dtype),
          .key_bytes = key_dim * bytes_per_element(kernel.kv_dtype)};
}

Launch make_launch(const Mla& kernel, std::string_view name) {
  Launch launch;
  launch.name = name;
  launch.tensor_dtype = score_dtype(kernel.dtype);
  launch.shape.threads = 384;
  launch.shape.registers_per_thread = 168;
  return launch;
}

Launch prefill_launch(const Mla& kernel, const SliceRuns& runs) {
  const double size = activation_bytes(kernel.dtype);
  const double key_dim = kernel.nope_dim + kernel.rope_dim;
  const AttentionTile tile = {.rows = prefill_tile_q,
                              .keys_step = prefill_tile_kv,
                              .score_dim = key_dim,
                              .value_dim = static_cast<double>(kernel.value_dim),
                              .query_bytes = key_dim * size,
                              .key_bytes = (key_dim + kernel.value_dim) * size};
  Launch launch = make_launch(kernel, "mla_prefill");
  launch.repeats = kernel.query_heads;
  launch.shape.shared_memory =
      Bytes((prefill_tile_q * key_dim + prefill_tile_kv * (key_dim + kernel.value_dim)) * size);
  TaskList one;
  for (const SliceRun& run : runs) {
    one.clear();
    for (std::int64_t t = ceil_div(run.slice.query_tokens, prefill_tile_q); t-- > 0;) {
      const std::int64_t end =
          std::min<std::int64_t>(run.slice.query_tokens, (t + 1) * prefill_tile_q);
      append_tasks(
          one,
          attention_task(tile, visible_keys(run.slice, t * prefill_tile_q, end, true, 0).size()),
          1);
    }
    append_list(launch.tasks, one, run.count);
  }
  launch.shape.grid_x = launch.task_count();
  return launch;
}

/// One task a key block; runs of them go to the CTAs of one row tile.
Launch flash_mla_launch(const Mla& kernel, const SliceRuns& runs, const GpuSpec& gpu) {
  const AttentionTile tile = absorbed_tile(kernel, flash_mla_rows, flash_mla_keys);
  Launch launch = make_launch(kernel, "flash_mla");
  launch.scheduling = Scheduling::stream_k;
  launch.shape.shared_memory =
      Bytes((flash_mla_rows + 2.0 * flash_mla_keys) * tile.key_bytes);  // query, two stages
  launch.shape.grid_x = gpu.sm_count;
  Task block = attention_task(tile, flash_mla_keys);
  block.bytes_loaded -= static_cast<double>(tile.rows) * tile.query_bytes;  // once a tile: left out
  for (const SliceRun& run : runs) {
    const std::int64_t row_tiles =
        ceil_div(run.slice.query_tokens * kernel.query_heads, flash_mla_rows);
    append_tasks(launch.tasks, block,
                 run.count * row_tiles * ceil_div(run.slice.context_tokens, flash_mla_keys));
  }
  return launch;
}

Launch triton_mla_launch(const Mla& kernel, const SliceRuns& runs) {
  const AttentionTile tile = absorbed_tile(kernel, triton_heads, triton_keys);
  Launch launch = make_launch(kernel, "triton_mla");
  launch.shape.threads = 128;
  launch.shape.registers_per_thread = 255;
  launch.shape.shared_memory = Bytes(triton_keys * tile.key_bytes);
  const std::int64_t head_tiles = ceil_div(kernel.query_heads, triton_heads);
  for (const SliceRun& run : runs) {
    const std::int64_t share = ceil_div(run.slice.context_tokens, triton_splits);
    append_tasks(launch.tasks, attention_task(tile, share),
                 run.count * run.slice.query_tokens * head_tiles * triton_splits);
  }
  launch.shape.grid_x = launch.task_count();
  return launch;
}

Launch combine_launch(const Mla& kernel, const SliceRuns& runs, std::int64_t chunks,
                      const GpuSpec& gpu) {
  std::vector<MergeRun> merges;
  for (const SliceRun& run : runs) {
    merges.push_back({run.count * run.slice.query_tokens * kernel.query_heads, chunks});
  }
  Launch launch = merge_states_launch(merges, kernel.latent_dim, gpu);
  launch.name = "mla_combine";
  return launch;
}

template <class MakeDecode>
Decomposition decompose_mla(const Mla& kernel, MakeDecode decode_launches) {
  Decomposition result;
  const SliceRuns prefill = slice_runs(kernel.load, LoadPart::prefill);
  const SliceRuns decode = slice_runs(kernel.load, LoadPart::decode);
  if (!prefill.empty()) result.launches.push_back(prefill_launch(kernel, prefill));
  if (!decode.empty()) decode_launches(decode, result.launches);
  return result;
}

}  // namespace

Decomposition decompose_flash_mla(const Mla& kernel, const GpuSpec& gpu) {
  return decompose_mla(kernel, [&](const auto& runs, std::vector<Launch>& launches) {
    launches.push_back(flash_mla_launch(kernel, runs, gpu));
    launches.push_back(combine_launch(kernel, runs, 2, gpu));  // most sequences are cut once
  });
}

Decomposition decompose_flash_attention_3_mla(const Mla& kernel, const GpuSpec& gpu) {
  Decomposition result = decompose_flash_mla(kernel, gpu);
  result.approximation =
      "FlashAttention-3's latent kernel by FlashMLA's plan: the same 64-row tiles, its splits are "
      "assumed equal";
  return result;
}

Decomposition decompose_trtllm_mla(const Mla& kernel, const GpuSpec& gpu) {
  Decomposition result = decompose_flash_mla(kernel, gpu);
  result.approximation =
      "trtllm's latent attention is closed: FlashMLA's plan stands in; operations and bytes are "
      "right, tiles are assumed (decodes of unequal sequences cost what the launch's own splits "
      "say)";
  return result;
}

Decomposition decompose_triton_mla(const Mla& kernel, const GpuSpec& gpu) {
  return decompose_mla(kernel, [&](const auto& runs, std::vector<Launch>& launches) {
    launches.push_back(triton_mla_launch(kernel, runs));
    launches.push_back(combine_launch(kernel, runs, triton_splits, gpu));
  });
}

}  // namespace foretoken

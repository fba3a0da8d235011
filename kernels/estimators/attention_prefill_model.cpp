#include "kernels/estimators/attention_prefill_model.hpp"

#include <algorithm>

#include "hardware/compute_capability.hpp"

namespace foretoken {
namespace {

/// Fitted to AIConfigurator's context tables (A100, H100, H200, B200, L40S), one row a code and
/// framework over all its GPUs; times in us on a GPU of 2 GHz.
struct PrefillConstants {
  double fixed;           // launches, planning, the first wave
  double small_cache;     // more for an fp8 cache
  double cta;             // one more CTA on an SM, 128 rows, head_dim 128
  double cta_dim_power;   // how it grows with head_dim
  double cta_rows_power;  // how it grows with a tile's rows
  double tensor_share;    // of the peak
  double exponential;     // weight beside products: 1 where nothing hides them
  double alone;           // the longest tile against its SM's share of the rate
  double block;           // latency of 64 keys
  double dram_share;      // of the specified bandwidth
  double l2_share;        // of the specified bandwidth
  double l2_fill;         // L2 sizes that stay resident
  double cache_writes;    // passes over the new keys and values beside the kernel's own
  double conversion;      // passes over everything where the cache is fp8
  double split_power;     // how well splitting long contexts works; 0: not done
  double merge;           // passes over the parts of split sequences
};

constexpr PrefillConstants prefill_fa2_vllm{7.98, 2.0,  4.78, 0,    0.65, 0.53, 0.0, 0.50,
                                            0.43, 0.71, 0.24, 1.48, 1.7,  0.1,  0,   0};
/// SGLang builds FlashAttention-3 for the A100 too.
constexpr PrefillConstants prefill_fa2_sglang{7.88, 3.0,  0.0,  0.5,  0.5, 0.72, 0.48, 1.69,
                                              0.11, 0.89, 0.66, 0.71, 3.0, 0.1,  0.53, 0.5};
constexpr PrefillConstants prefill_fa3_vllm{11.83, 1.08, 3.76, 0.30, 1.0, 0.88, 1.31, 0.20,
                                            0.64,  0.52, 0.31, 1.01, 3.0, 0.93, 0.70, 1.38};
constexpr PrefillConstants prefill_fa3_sglang{10.86, 0.29, 4.17, 0.0,  0.29, 0.81, 1.40, 0.20,
                                              0.48,  0.95, 0.65, 0.93, 2.67, 0.21, 0.91, 1.21};
constexpr PrefillConstants prefill_flashinfer_vllm{6.35, 1.94, 1.91, 0.06, 0.0, 0.43, 0.0, 1.11,
                                                   0.67, 0.95, 0.30, 1.12, 3.0, 0.09, 1.0, 3.0};
constexpr PrefillConstants prefill_flashinfer_sglang{4.78, 3.03, 1.83, .64,  0,    .51, 0,   .61,
                                                     1.0,  .95,  .95,  1.22, 2.72, .32, .89, 3.0};
/// On data-centre Blackwell FlashInfer's prefill is a CUTLASS kernel that never splits.
constexpr PrefillConstants prefill_flashinfer_cutlass{12.8, 2.65, 6.15, .6,  0, .80, .95, 1.4,
                                                      0,    .4,   .19,  1.2, 0, .18, 0,   0};
constexpr PrefillConstants prefill_trtllm_vllm{10.03, 0.0,  2.65, 0.0, 0.33, 0.92, 0.96, 0.20,
                                               0.72,  0.43, 0.32, 1.2, 3.0,  0.82, 0.09, 0.48};
constexpr PrefillConstants prefill_trtllm_sglang{9.56, 6.02, 2.80, 0.0, 0.33, 0.79, 0.85, 0.20,
                                                 0.66, 0.65, 0.49, 1.2, 0.79, 1.46, 0.03, 0.04};
constexpr PrefillConstants prefill_triton_vllm{3.0, 0.71, 0.0,  0.0, 1.0, 0.23, 1.77, 0.53,
                                               1.0, 0.95, 0.17, 1.2, 3.0, 0.0,  0.33, 0.49};
constexpr PrefillConstants prefill_triton_sglang{10.26, 0.77, 3.56, 0.04, 0.0, 0.46, 0.24, 0.34,
                                                 1.0,   0.66, 0.50, 1.2,  3.0, 0.28, 0.0,  0.0};
constexpr PrefillConstants prefill_fa4{9.89, 2.0,  0.0,  0.0,  1.0, 0.42, 2.76, 0.43,
                                       0.98, 0.40, 0.36, 0.98, 3.0, 0.12, 0.16, 1.2};

/// Fixed cost of a bare launch: FlashInfer on an H200 inside a CUDA graph.
constexpr double prefill_bare_fixed = 4.5;  // us

const PrefillConstants& prefill_constants(const AttentionSetting& setting, const GpuSpec& gpu) {
  switch (setting.code) {
    case AttentionCode::fa2:
      return setting.is_sglang ? prefill_fa2_sglang : prefill_fa2_vllm;
    case AttentionCode::fa3:
      return setting.is_sglang ? prefill_fa3_sglang : prefill_fa3_vllm;
    case AttentionCode::flashinfer:
      if (is_datacentre_blackwell(gpu)) return prefill_flashinfer_cutlass;
      return setting.is_sglang ? prefill_flashinfer_sglang : prefill_flashinfer_vllm;
    case AttentionCode::trtllm:
      return setting.is_sglang ? prefill_trtllm_sglang : prefill_trtllm_vllm;
    case AttentionCode::triton:
      return setting.is_sglang ? prefill_triton_sglang : prefill_triton_vllm;
    case AttentionCode::fa4:
      return prefill_fa4;
  }
  return prefill_fa2_vllm;
}

/// Triton's products run at what older tensor-core instructions reach on any GPU: operations a
/// clock a SM at most.
constexpr double prefill_triton_ops_max = 1024;
/// Parts whose tensor cores are slower than this (operations a clock a SM; GeForce and L20, L40,
/// where accumulation in fp32 is halved) have the registers and shared memory of those that are
/// not: the tensor cores are then nearly always busy (RTX 4090, FlashAttention-2).
constexpr double prefill_fed_ops = 1024, prefill_fed_share = 0.85;
constexpr double prefill_chunk_keys = 128, prefill_block_keys = 64;

struct PrefillTiles {
  double rows = 128, keys = 64;  // of a tile
  double queries = 128;          // of a tile: rows over the heads that share it
  double count = 0;              // CTAs before a split
  double padded_rows = 0;        // all
  double keys_longest = 0;       // the last tile of the longest sequence sees
  double padded_keys = 0;        // a row, mean
};

/// FlashAttention-2 halves its tile where an SM has 100 KB of shared memory (8.6, 8.9, 12.0).
bool has_small_shared_memory(const GpuSpec& gpu) { return gpu.shared_size_sm.value() < 128 * 1024; }

double tile_rows(const AttentionLaunch& shape, AttentionCode code, const GpuSpec& gpu) {
  if (code == AttentionCode::fa2 && shape.head_dim > 64 && has_small_shared_memory(gpu)) return 64;
  if (code != AttentionCode::flashinfer) return shape.head_dim <= 128 ? 128 : 64;
  const double packed = shape.queries * shape.group;
  if (packed > 64) return shape.head_dim < 256 ? 128 : 64;
  return packed > 16 ? 64 : 16;
}

PrefillTiles prefill_tiles(const AttentionLaunch& shape, const AttentionSetting& setting,
                           const GpuSpec& gpu) {
  const bool has_bulk_copies =
      setting.code == AttentionCode::fa3 || setting.code == AttentionCode::trtllm;
  const bool packs = setting.packs_heads && (setting.code == AttentionCode::fa3 ||
                                             setting.code == AttentionCode::flashinfer);
  const double packed = packs ? shape.group : 1;
  PrefillTiles tiles;
  tiles.rows = tile_rows(shape, setting.code, gpu);
  tiles.keys = has_bulk_copies && shape.head_dim <= 128 ? 128 : 64;
  tiles.queries = tiles.rows / packed;
  tiles.count =
      shape.sequences * std::ceil(shape.queries / tiles.queries) * shape.query_heads / packed;
  tiles.padded_rows = tiles.count * tiles.rows;
  const auto whole = [&](double keys) { return std::ceil(keys / tiles.keys) * tiles.keys; };
  const double reach = shape.window + std::min(shape.queries, tiles.queries);
  const bool has_window = shape.window > 0;
  const double context = has_window ? std::min(shape.context, reach) : shape.context;
  tiles.keys_longest = whole(has_window ? std::min(shape.context_max, reach) : shape.context_max);
  tiles.padded_keys = std::min(shape.keys + tiles.queries / 2 + tiles.keys / 2 - 1, whole(context));
  return tiles;
}

void add_prefill_compute(const Attention& kernel, const AttentionLaunch& shape,
                         const PrefillTiles& tiles, const AttentionSetting& setting,
                         const PrefillConstants& c, const GpuSpec& gpu, const ClockFactors& clock,
                         PrefillEstimate& out) {
  const bool multiplies_fp8 =
      setting.code == AttentionCode::fa3 || setting.code == AttentionCode::trtllm;
  const bool has_fp8 = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::fp8)] > 0;
  out.has_fp8_products =
      kernel.dtype == DType::fp8 || (multiplies_fp8 && shape.has_small_cache && has_fp8);
  double ops = product_ops(out.has_fp8_products ? DType::fp8 : kernel.dtype, gpu);
  if (setting.code == AttentionCode::triton) ops = std::min(ops, prefill_triton_ops_max);
  const double pairs = tiles.padded_rows * tiles.padded_keys;
  const double cycles_a_us = gpu.clock.value() * 1e-6;
  const double tensor_cycles = 4 * shape.head_dim /
                               std::min(std::max(ops, prefill_fed_ops) * c.tensor_share,
                                        ops * std::max(prefill_fed_share, c.tensor_share));
  const double exponential_cycles = c.exponential / gpu.xu_ops_per_cycle_sm;
  out.tensor = pairs * tensor_cycles / (gpu.sm_count * cycles_a_us);
  out.exponentials = pairs * exponential_cycles / (gpu.sm_count * cycles_a_us);
  out.row_padding = tiles.padded_rows / (shape.sequences * shape.queries * shape.query_heads);
  out.key_padding = tiles.padded_keys / shape.keys;

  const double slots = gpu.sm_count * (setting.code == AttentionCode::fa3 ? 1.0 : 2.0);
  const double parts =
      std::clamp(std::floor(slots / tiles.count), 1.0,
                 std::max(std::ceil(tiles.keys_longest / prefill_chunk_keys), 1.0));
  out.splits = std::pow(parts, c.split_power);
  const double keys = std::min(2 * tiles.padded_keys, tiles.keys_longest);
  out.longest = (c.alone * tiles.rows * keys * (tensor_cycles + exponential_cycles) / cycles_a_us +
                 c.block * tiles.keys_longest / prefill_block_keys * std::sqrt(clock.fixed)) /
                out.splits;
}

void add_prefill_ctas(const AttentionLaunch& shape, const PrefillTiles& tiles,
                      const PrefillConstants& c, const GpuSpec& gpu, const ClockFactors& clock,
                      PrefillEstimate& out) {
  out.ctas_a_sm = tiles.count / gpu.sm_count;
  out.ctas = c.cta * clock.cta * std::pow(tiles.rows / 128, c.cta_rows_power) *
             std::pow(shape.head_dim / 128, c.cta_dim_power) * std::max(out.ctas_a_sm - 1, 0.0);
}

void add_prefill_memory(const AttentionLaunch& shape, const AttentionSetting& setting,
                        const PrefillConstants& c, const GpuSpec& gpu, PrefillEstimate& out) {
  const double key_bytes = shape.sequences * shape.kv_heads * shape.head_dim * 2 * shape.kv_bytes;
  const double read =
      out.has_window ? std::min(shape.context, shape.window + shape.queries - 1) : shape.context;
  const double writes = setting.is_bare ? 0 : c.cache_writes;
  const double rows = shape.sequences * shape.queries * shape.query_heads * shape.head_dim;
  const double bytes = rows * 4 + key_bytes * (read + writes * shape.queries);
  out.working_set = bytes / gpu.l2_size.value();
  const double hot = hit_share(out.working_set, c.l2_fill);
  const double l2 = 1e6 / (gpu.l2_bandwidth.value() * c.l2_share);
  const double dram = 1e6 / (gpu.dram_bandwidth.value() * c.dram_share);
  out.memory = (hot * l2 + (1 - hot) * dram) * bytes;
  const double cached = key_bytes * std::max(read - shape.queries, 0.0);
  out.memory_cached_cold = hot * std::max(dram - l2, 0.0) * cached;
  if (shape.has_small_cache && !setting.is_bare) out.conversion = c.conversion * out.memory;
  if (out.splits > 1) {
    out.merge = c.merge * (2 * out.splits * rows * 4 / gpu.l2_bandwidth.value() * 1e6 + 1);
  }
}

Bound prefill_bound(const PrefillEstimate& e) {
  const double compute = e.tensor + e.exponentials;
  const double body = std::max({compute, e.longest, e.memory, e.ctas});
  if (e.fixed + e.merge + e.conversion > body || e.ctas == body) return Bound::launch;
  if (e.memory == body) return e.working_set < 1 ? Bound::l2 : Bound::dram;
  return e.tensor >= e.exponentials ? Bound::tensor : Bound::xu;
}

/// Whether the kernel skips what a window hides. SGLang 0.5.14's FlashInfer and Triton prefill
/// takes as long with a window as without.
bool skips_hidden_keys(const AttentionSetting& setting) {
  return !(setting.is_sglang &&
           (setting.code == AttentionCode::flashinfer || setting.code == AttentionCode::triton));
}

}  // namespace

PrefillEstimate estimate_prefill(const Attention& kernel, const AttentionSetting& setting,
                                 const GpuSpec& gpu) {
  const PrefillConstants& c = prefill_constants(setting, gpu);
  const ClockFactors clock = clock_factors(gpu);
  const AttentionLaunch shape = attention_shape(kernel, skips_hidden_keys(setting));
  const PrefillTiles tiles = prefill_tiles(shape, setting, gpu);
  PrefillEstimate out;
  out.has_window = shape.window > 0;
  out.fixed = (setting.is_bare ? prefill_bare_fixed
                               : c.fixed + (shape.has_small_cache ? c.small_cache : 0)) *
              clock.fixed;
  add_prefill_compute(kernel, shape, tiles, setting, c, gpu, clock, out);
  add_prefill_ctas(shape, tiles, c, gpu, clock, out);
  add_prefill_memory(shape, setting, c, gpu, out);
  const double compute = out.tensor + out.exponentials;
  const double beside = out.fixed + out.merge + out.conversion;
  out.total = beside + overlapped(compute, out.ctas, out.longest, out.memory);
  out.total_cold =
      beside + overlapped(compute, out.ctas, out.longest, out.memory + out.memory_cached_cold);
  out.bound = prefill_bound(out);
  return out;
}

}  // namespace foretoken

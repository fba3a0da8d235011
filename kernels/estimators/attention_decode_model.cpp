#include "kernels/estimators/attention_decode_model.hpp"

#include <algorithm>

namespace foretoken {
namespace {

/// Fitted to AIConfigurator's generation tables (A100, H100, H200, B200, L40S), one row a code and
/// framework over all its GPUs; times in us on a GPU of 2 GHz.
struct DecodeConstants {
  double fixed;             // launches, planning, the first wave
  double small_cache;       // more for an fp8 cache: SGLang quantises beside the kernel
  double cta;               // one more CTA on an SM, at head_dim 128
  double cta_dim_power;     // how it grows with head_dim
  double dram_share;        // of the specified bandwidth
  double l2_share;          // of the specified bandwidth
  double l2_fill;           // L2 sizes that stay resident
  double block;             // 64 keys in a row, head_dim 128
  double split;             // merging
  double free_ctas;         // CTAs a SM that the fixed cost covers
  double exponential;       // weight of exponentials beside products
  double reread_power = 0;  // DRAM traffic of reading a KV head once a query head: group^power
  double copy = 0;          // reordering queries and outputs
  double unsplit_cta = 1;   // CTAs of the kernel without split, relative
};

constexpr DecodeConstants fa2_vllm{9.25, 2.0,  4.19, 0.0, 0.80, 0.57, 0.96,
                                   1.06, 4.74, 0.41, 2.0, 0.52, 4.72, 0.72};
/// SGLang builds FlashAttention-3 for the A100 too: it packs and splits like it.
constexpr DecodeConstants fa2_sglang{7.18, 4.2, 3.27, 0.5, 0.56, 0.26, 0.50, 3.0, 6.28, -1.0, 2.0};
constexpr DecodeConstants fa3_vllm{10.9, 2.10, 3.92, 0.48, 0.92, 0.38,
                                   1.12, 0.39, 0.44, 0.41, 0.77};
constexpr DecodeConstants fa3_sglang{9.50, 4.22, 3.37, 0.58, 0.95, 0.67,
                                     0.72, 0.41, 1.54, 0.63, 2.0};
constexpr DecodeConstants flashinfer_vllm{10.4, 2.6,  3.27, 0.51, 0.79, 0.66,
                                          1.02, 0.85, 0.48, 0.56, 2.0};
constexpr DecodeConstants flashinfer_sglang{6.75, 5.38, 3.06, 0.71, 0.84, 0.89,
                                            1.01, 1.17, 2.50, 0.69, 2.0};
constexpr DecodeConstants trtllm_vllm{8.10, 0.33, 1.47, 0.38,  0.95, 1.42,
                                      0.65, 0.09, 1.37, -0.39, 1.8};
constexpr DecodeConstants trtllm_sglang{7.34, 6.70, 1.36, 0.56, 0.95, 1.50,
                                        0.65, 0.08, 1.54, -1.0, 1.9};
constexpr DecodeConstants triton_vllm{8.94, 0.0,  1.73, 0.28,  0.84, 0.33,
                                      1.28, 1.82, 0.0,  -0.75, 2.0};
constexpr DecodeConstants triton_sglang{5.09, 1.99, 2.19, 0.42, 0.69, 0.44,
                                        1.29, 2.77, 0.16, -1.0, 2.0};
constexpr DecodeConstants fa4{11.2, 2.0, 8.0, 1.5, 0.77, 0.21, 1.30, 0.02, 0.0, -0.08, 2.0};

/// Fixed cost of a bare launch: FlashInfer on an H200 inside a CUDA graph takes 4 to 6 us where
/// frameworks take 7 to 11.
constexpr double bare_fixed = 4.5;  // us

const DecodeConstants& constants_of(const AttentionSetting& setting) {
  switch (setting.code) {
    case AttentionCode::fa2:
      return setting.is_sglang ? fa2_sglang : fa2_vllm;
    case AttentionCode::fa3:
      return setting.is_sglang ? fa3_sglang : fa3_vllm;
    case AttentionCode::flashinfer:
      return setting.is_sglang || setting.is_bare ? flashinfer_sglang : flashinfer_vllm;
    case AttentionCode::trtllm:
      return setting.is_sglang ? trtllm_sglang : trtllm_vllm;
    case AttentionCode::triton:
      return setting.is_sglang ? triton_sglang : triton_vllm;
    case AttentionCode::fa4:
      return fa4;
  }
  return fa2_vllm;
}

/// SGLang 0.5.14 hands FlashInfer no window where it is as long as chunked attention's (8192): the
/// measured time keeps growing with the context there.
constexpr double flashinfer_window_max = 8192;

constexpr double block_keys = 64, chunk_keys = 128;
/// Parts a sequence at most: SGLang's and vLLM's settings of their Triton kernels.
constexpr double triton_splits_sglang = 8, triton_splits_vllm = 16;
constexpr double cuda_core_group_max = 4;    // FlashInfer: below it no tensor cores at 16 bit
constexpr double cuda_core_cta_share = 0.2;  // such CTAs start five times as fast
constexpr double merge_rows = 16, pack_rows = 64;

/// What is known before any time: how the kernel cuts the work.
struct DecodeCut {
  double keys = 0, keys_longest = 0;
  double heads = 0, rows = 0, tiles = 0;  // heads that are launched, rows of each, tiles of those
  double slots = 0;                       // CTAs at once that a split aims at
  double splits_max = 1;
  bool has_equal_parts = false;
};

double tiles_of_rows(AttentionCode code, double rows) {
  const bool has_small_tile = code == AttentionCode::flashinfer || code == AttentionCode::trtllm;
  if (!has_small_tile) return std::ceil(rows / pack_rows);
  return rows <= merge_rows ? 1 : 2 * std::ceil(rows / pack_rows);  // the large tile costs two
}

DecodeCut cut(const AttentionLaunch& shape, const AttentionSetting& setting, const GpuSpec& gpu,
              DecodeEstimate& out) {
  const bool is_flashinfer_sglang = setting.code == AttentionCode::flashinfer && setting.is_sglang;
  out.has_window =
      shape.window > 0 && !(is_flashinfer_sglang && shape.window >= flashinfer_window_max);
  const bool is_fa2 = setting.code == AttentionCode::fa2;
  const bool is_fa2_vllm = is_fa2 && !setting.is_sglang;
  out.reads_per_query_head = is_fa2 && out.has_window;
  out.never_splits = is_fa2_vllm && (out.has_window || shape.group == 1);
  out.copies_queries =
      is_fa2_vllm && !out.never_splits && shape.kv_heads > 1 && shape.sequences > 1;
  const bool prefers_cuda_cores = is_flashinfer_sglang && !setting.asks_tensor_cores &&
                                  shape.group < cuda_core_group_max && !shape.has_small_cache;
  out.is_cuda_core = setting.asks_cuda_cores || prefers_cuda_cores;
  DecodeCut cut;
  cut.keys = out.has_window ? std::min(shape.context, shape.window) : shape.context;
  cut.keys_longest = out.has_window ? std::min(shape.context_max, shape.window) : shape.context_max;
  cut.heads = out.reads_per_query_head ? shape.query_heads : shape.kv_heads;
  cut.rows = out.reads_per_query_head ? 1 : shape.group;
  cut.tiles = tiles_of_rows(setting.code, cut.rows);
  cut.slots = gpu.sm_count * (is_fa2 || setting.code == AttentionCode::flashinfer ? 2.0 : 1.0);
  cut.has_equal_parts = setting.code == AttentionCode::flashinfer ||
                        setting.code == AttentionCode::trtllm || setting.code == AttentionCode::fa3;
  cut.splits_max = std::max(std::ceil(cut.keys_longest / chunk_keys), 1.0);
  if (setting.code == AttentionCode::triton) {
    const double limit = setting.is_sglang ? triton_splits_sglang : triton_splits_vllm;
    cut.splits_max = std::min(cut.splits_max, limit);
  }
  if (out.never_splits) cut.splits_max = 1;
  return cut;
}

void add_reads(const AttentionLaunch& shape, const DecodeCut& cut, const DecodeConstants& c,
               const GpuSpec& gpu, DecodeEstimate& out) {
  const double cache = shape.sequences * cut.keys * 2 * shape.head_dim * shape.kv_bytes;
  const double queries = shape.sequences * shape.query_heads * shape.head_dim * 4;
  const double bytes = cache * shape.kv_heads + queries;
  out.working_set = bytes / gpu.l2_size.value();
  const double hot = hit_share(out.working_set, c.l2_fill);
  const double l2_at_peak = (cache * cut.heads + queries) / gpu.l2_bandwidth.value() * 1e6;
  const double l2 = l2_at_peak / c.l2_share;
  const double reread = out.reads_per_query_head ? std::pow(shape.group, c.reread_power) : 1.0;
  // The constants are of GPUs that reach 0.9 of their bandwidth.
  const double reached = gpu.dram_bandwidth.value() * gpu.dram_stream_share / 0.9;
  const double dram = bytes / (reached * c.dram_share) * reread * 1e6;
  out.memory = hot * l2 + (1 - hot) * dram;
  // The fitted L2 share hides latencies that DRAM has too: what is lost without hits is judged
  // by the L2's peak.
  out.memory_cold = out.memory + hot * std::max(dram - l2_at_peak, 0.0);
}

void add_compute(const Attention& kernel, const AttentionLaunch& shape, const DecodeCut& cut,
                 const AttentionSetting& setting, const DecodeConstants& c, const GpuSpec& gpu,
                 DecodeEstimate& out) {
  const bool is_wide = setting.code == AttentionCode::fa3 || setting.code == AttentionCode::fa4;
  const double granule = is_wide ? 64 : 16;
  const double rows = std::ceil(cut.rows / granule) * granule;
  const bool has_fp8 = gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::fp8)] > 0;
  const bool is_fp8 = setting.code == AttentionCode::fa3 && shape.has_small_cache && has_fp8;
  const double ops = product_ops(is_fp8 ? DType::fp8 : kernel.dtype, gpu);
  const double cycles_a_key = 4 * shape.head_dim / ops + c.exponential / gpu.xu_ops_per_cycle_sm;
  out.math = shape.sequences * cut.heads * rows * cut.keys * cycles_a_key /
             (gpu.sm_count * gpu.clock.value()) * 1e6;
  out.row_fill = cut.rows / (pack_rows * std::ceil(cut.rows / pack_rows));
}

void add_ctas(const AttentionLaunch& shape, const DecodeCut& cut, const DecodeConstants& c,
              const GpuSpec& gpu, const ClockFactors& clock, DecodeEstimate& out) {
  const double ctas = shape.sequences * cut.heads * cut.tiles;
  out.ctas_a_sm = ctas / gpu.sm_count;
  out.splits = std::clamp(std::floor(cut.slots / ctas), 1.0, cut.splits_max);
  out.parts_a_slot = ctas * out.splits / cut.slots;
  const double relative_dim = shape.head_dim / 128;
  // Where the parts are of equal size whatever the sequence, a long one has more of them.
  const double walked = out.splits > 1 && cut.has_equal_parts ? cut.keys : cut.keys_longest;
  out.chain = walked / out.splits / block_keys * c.block * std::sqrt(relative_dim);
  double cta = c.cta * clock.cta * std::pow(relative_dim, c.cta_dim_power);
  if (out.is_cuda_core) cta *= cuda_core_cta_share;
  if (out.never_splits && !out.has_window) cta *= c.unsplit_cta;
  out.ctas = cta * std::max(out.ctas_a_sm - c.free_ctas, 0.0);
}

Bound bound_of(const DecodeEstimate& e) {
  const double longest = std::max({e.memory, e.ctas, e.math, e.chain});
  if (e.fixed + e.split > longest || e.ctas == longest) return Bound::launch;
  if (e.memory == longest) return e.working_set < 0.7 ? Bound::l2 : Bound::dram;
  return e.math == longest ? Bound::tensor : Bound::shared;
}

}  // namespace

DecodeEstimate estimate_decode(const Attention& kernel, const AttentionSetting& setting,
                               const GpuSpec& gpu) {
  const DecodeConstants& c = constants_of(setting);
  const ClockFactors clock = clock_factors(gpu);
  const AttentionLaunch shape = decode_shape(kernel);
  DecodeEstimate out;
  const DecodeCut how = cut(shape, setting, gpu, out);
  out.keys = how.keys;
  out.fixed = (setting.is_bare ? bare_fixed : c.fixed) * clock.fixed +
              (shape.has_small_cache && !setting.is_bare ? c.small_cache : 0);
  add_reads(shape, how, c, gpu, out);
  add_compute(kernel, shape, how, setting, c, gpu, out);
  add_ctas(shape, how, c, gpu, clock, out);
  if (out.splits > 1) out.split += c.split * clock.fixed;
  if (out.copies_queries && !setting.is_bare) out.split += c.copy * clock.fixed;
  out.total = out.fixed + out.split + overlapped(out.memory, out.ctas, out.math, out.chain);
  out.total_cold =
      out.fixed + out.split + overlapped(out.memory_cold, out.ctas, out.math, out.chain);
  out.bound = bound_of(out);
  return out;
}

}  // namespace foretoken

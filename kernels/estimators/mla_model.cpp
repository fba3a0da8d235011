#include "kernels/estimators/mla_model.hpp"

#include <algorithm>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/streamed_bandwidth.hpp"
#include "kernels/latent_prompts.hpp"
#include "kernels/tasks/decomposition.hpp"

namespace foretoken {
namespace {

/// Fitted to AIConfigurator's generation_mla tables (vLLM: A100, H100, H200, L40S; SGLang: H100,
/// H200, L40S, B200; TensorRT-LLM: A100, H100, H200, L40S), one row a code over all its GPUs; us at
/// 2 GHz.
struct MlaDecodeConstants {
  double fixed;               // of the call, as the tables time it
  double small_cache;         // more for an fp8 cache
  double dram_share;          // of the bandwidth that streams reach
  double tensor_share;        // of the peak
  double tile_rows;           // query heads (times tokens) of a CTA
  double granule;             // rows that products are padded to
  double cta;                 // one more CTA on an SM
  double row_passes;          // over queries and results
  double power;               // of the norm by which bytes, products and walk overlap
  double conversion;          // bytes moved an element of an fp8 cache; 0: the kernel reads it
  bool multiplies_fp8;        // what an fp8 cache holds, as it is
  double merge;               // joining the parts of sequences that are cut to fill the GPU
  double merge_keys;          // from which on they are cut
  double splits;              // Triton: always so many; 0: no walk
  double key;                 // Triton: a key of a tile
  double walk_share;          // Triton: of that, where many tiles take turns on an SM
  double served_granule = 0;  // as granule, of an fp8 cache that is served; 0: the same
};

/// Likewise to the context_mla tables.
struct MlaPromptConstants {
  double tensor_share;
  double fp8_speedup;      // of products where the cache is fp8
  double tile_rows;        // of a tile, in heads times tokens where absorbed
  double tail;             // the longest tile against its SM's share of the rate
  double power;            // of the norm by which it overlaps with the rest
  double row_bytes;        // moved a token and head
  double row_bytes_small;  // the same with an fp8 cache
};

struct MlaCode {
  MlaDecodeConstants decode;
  double prompt_fixed, prompt_small_cache;  // us
  double short_queries;  // prompts up to here are absorbed, and with an fp8 cache
  double short_queries_small;
  MlaPromptConstants absorbed, expanded;
};

constexpr double always = 1e9;  // queries

// Of vLLM, whose tables time calls outside a graph: `fixed` is the host's. FlashMLA has tiles of 64
// heads: with up to as many whole blocks of attention take half of what they do with 128
// (mla_generation_module_perf), where the table of the kernel has the time of 128 heads for one.
constexpr MlaCode flash_mla{
    {164, 46, 0.95, 0.72, 128, 128, 0, 4.5, 4.4, 0, false, 4.0, 200, 0, 0, 0, 64},
    165,
    29,
    512,
    64,
    {0.63, 1, 64, 1.37, 1.0, 7.5e3, 21e3},
    {0.95, 1, 128, 1.37, 1.0, 5.4e3, 5.4e3}};
constexpr MlaCode triton_vllm{
    {337, 0, 0.89, 0.15, 16, 16, 13.8, 14.5, 2.6, 0, false, 0, 1, 4, 0.081, 0.92},
    294,
    0,
    0,
    0,
    {},
    {0.54, 1, 128, 0.49, 1.0, 5.7e3, 5.7e3}};
// Of SGLang, inside graphs. On Hopper the table's prompts are absorbed, whatever their length, and
// its FlashAttention-3 converts an fp8 cache first. `expanded`, as served: fitted to the 233 rows
// of wideep_context_mla of an H100 that take 2.5 ms and more with prompts of 64 tokens and more,
// less their products (4.2 % of whole rows; the H200's: 4.3).
constexpr MlaCode flash_attention_3{
    {12.1, 5.2, 0.93, 0.61, 64, 64, 5.9, 0.87, 4.3, 10.8, false, 4.8, 100, 0, 0, 0},
    11.0,
    6.4,
    always,
    always,
    {0.66, 1, 64, 0.52, 1.33, 3.4e3, 3.4e3},
    {0.75, 1, 128, 0.526, 1.0, 1.33e3, 1.33e3}};
constexpr MlaCode triton_sglang{
    {13.8, 0, 0.89, 0.15, 16, 16, 28.4, 14.0, 2.3, 0, false, 0, 1, 8, 0.019, 1.54},
    3.1,
    0,
    always,
    always,
    {0.21, 1, 16, 1.18, 1.27, 0.62e3, 0.62e3},
    {}};
constexpr MlaCode trtllm{{10.4, 0, 0.76, 0.82, 128, 16, 3.6, 2.36, 1.6, 0, true, 3.4, 380, 0, 0, 0},
                         12.0,
                         7.5,
                         0,
                         0,
                         {},
                         {0.72, 1.22, 128, 1.37, 1.18, 1.9e3, 3.1e3}};

// TensorRT-LLM's own, inside graphs. Before Hopper a CTA walks all keys of a sequence.
constexpr MlaCode trtllm_hopper{
    {14.1, 0, 0.937, 0.933, 16, 16, 3.84, 0.258, 1.55, 0, false, 0, 1, 0, 0, 0},
    15.6,
    3.6,
    0,
    0,
    {},
    {0.707, 1.11, 128, 0.526, 0.904, 1.6e3, 3.0e3}};
constexpr MlaCode trtllm_before_hopper{
    {10.3, 0, 0.9, 0.275, 64, 64, 10.7, 0.26, 1.8, 0, false, 0, 1, 1, 0.083, 0.05},
    11.8,
    0,
    0,
    0,
    {},
    {0.523, 1, 128, 0.149, 0.896, 0.96e3, 1.07e3}};

constexpr double graph_fixed = 8;        // us: vLLM's two launches inside a graph
constexpr double deepseek_dims = 320;    // of an expanded key and value, where bytes were fitted
constexpr double cached_bytes = 1.3e3;   // a cached token and head: its key and value, and again
constexpr double expanding_share = 0.6;  // of the tensor peak, of their product: as other products
constexpr double tile_keys = 64;         // mean padding of a row of queries: half of it
constexpr double host_power = 4;         // the device's work hides behind the host's until longer

double expanded_dims(const Mla& mla) {
  return static_cast<double>(mla.nope_dim + mla.rope_dim + mla.value_dim);
}

KernelSource source_of(const Mla& mla, const GpuSpec& gpu) {
  if (mla.implementation.source != KernelSource::automatic) return mla.implementation.source;
  return resolve_implementation(mla, gpu).source;
}

const MlaCode& code_of(const Mla& mla, const GpuSpec& gpu) {
  switch (source_of(mla, gpu)) {
    case KernelSource::triton:
      return mla_is_timed_with_host(mla) ? triton_vllm : triton_sglang;
    case KernelSource::trtllm:
      if (is_datacentre_blackwell(gpu)) return trtllm;
      return gpu.compute_capability < hopper ? trtllm_before_hopper : trtllm_hopper;
    case KernelSource::flash_attention_3:
      return flash_attention_3;
    default:
      return flash_mla;
  }
}

double norm(std::initializer_list<double> parts, double power) {
  const double longest = std::max(parts);
  if (longest <= 0) return 0;
  double sum = 0;
  for (const double part : parts) sum += std::pow(part / longest, power);
  return longest * std::pow(sum, 1 / power);
}

/// Absorbed keys and values: the latent one with its rotary part, and the latent one again.
double absorbed_dims(const Mla& mla) { return 2.0 * mla.latent_dim + mla.rope_dim; }

double mla_tensor_us(double flops, DType dtype, double share, const GpuSpec& gpu) {
  return flops / (product_ops(dtype, gpu) * share * gpu.sm_count * gpu.clock.value()) * 1e6;
}

double moved_us(double bytes, const GpuSpec& gpu) { return bytes / streamed_bandwidth(gpu) * 1e6; }

MlaEstimate start(const Mla& mla, bool is_triton) {
  const LoadSums& sums = mla.load.prefill.sequences > 0 ? mla.load.prefill : mla.load.decode;
  FORETOKEN_CHECK(sums.sequences > 0 && sums.query_tokens > 0, "no queries");
  MlaEstimate out;
  out.is_triton = is_triton;
  out.has_small_cache = bytes_per_element(mla.kv_dtype) < 2;
  out.sequences = static_cast<double>(sums.sequences);
  out.queries = static_cast<double>(sums.query_tokens) / out.sequences;
  out.context = static_cast<double>(sums.context_tokens) / out.sequences;
  out.keys = sums.causal_pairs / static_cast<double>(sums.query_tokens);
  return out;
}

/// us of the device
double add_decode(const Mla& mla, const MlaDecodeConstants& c, const GpuSpec& gpu, bool is_cold,
                  MlaEstimate& out) {
  const double rows = mla.query_heads * out.queries;
  const double elements = out.sequences * out.context * (mla.latent_dim + mla.rope_dim);
  const bool converts = out.has_small_cache && c.conversion > 0;
  const double element = converts ? 2 : bytes_per_element(mla.kv_dtype);
  out.memory = moved_us(elements * element, gpu) / c.dram_share;
  if (converts) out.conversion = moved_us(elements * c.conversion, gpu);
  const bool multiplies_fp8 =
      c.multiplies_fp8 && out.has_small_cache && gpu.tensor_rate(DType::fp8).value() > 0;
  const bool is_served = is_cold && out.has_small_cache && c.served_granule > 0;
  const double granule = is_served ? c.served_granule : c.granule;
  const double padded = std::ceil(rows / granule) * granule;
  out.math = mla_tensor_us(2 * absorbed_dims(mla) * out.sequences * padded * out.keys,
                           multiplies_fp8 ? DType::fp8 : mla.dtype, c.tensor_share, gpu);
  const double slowness = 2e9 / gpu.clock.value();
  const double tiles = out.sequences * std::ceil(rows / c.tile_rows) / gpu.sm_count;
  if (c.splits > 0) {
    out.walk = c.key * slowness * out.keys * std::max(1 / c.splits, c.walk_share * tiles);
  }
  out.ctas = c.cta * slowness * std::max(tiles - 1, 0.0) +
             c.merge * std::clamp(out.keys / c.merge_keys - 1, 0.0, 1.0) * std::max(1 - tiles, 0.0);
  out.rows = c.row_passes * moved_us(out.sequences * rows * absorbed_dims(mla) * 2, gpu);
  return norm({out.memory, out.math, out.walk}, c.power) + out.rows + out.conversion + out.ctas;
}

/// us around the product that makes keys and values of cached tokens, and of that product where it
/// is part of the call (vLLM; in other engines it is a launch of its own).
double expanding_us(const Mla& mla, const MlaEstimate& prompts, const GpuSpec& gpu) {
  const double cached = std::max(prompts.context - prompts.queries, 0.0);
  const double rows = prompts.sequences * mla.query_heads * cached;
  const double moved = moved_us(rows * cached_bytes * expanded_dims(mla) / deepseek_dims, gpu);
  if (!mla_is_timed_with_host(mla)) return moved;
  const double flops = 2.0 * mla.latent_dim * (mla.nope_dim + mla.value_dim) * rows;
  return moved + mla_tensor_us(flops, mla.dtype, expanding_share, gpu);
}

/// us of the device
double add_mla_prompts(const Mla& mla, const MlaPromptConstants& c, const GpuSpec& gpu,
                       MlaEstimate& out) {
  const double heads = mla.query_heads;
  const double rows = out.sequences * heads * out.queries;
  const double tile_queries =
      out.is_absorbed ? c.tile_rows / std::min(heads, c.tile_rows) : c.tile_rows;
  const double keys = out.keys + (tile_queries + (out.is_absorbed ? tile_keys : c.tile_rows)) / 2;
  const double dims = out.is_absorbed ? absorbed_dims(mla) : expanded_dims(mla);
  const double speedup = out.has_small_cache ? c.fp8_speedup : 1;
  out.math = mla_tensor_us(2 * dims * rows * keys, mla.dtype, c.tensor_share * speedup, gpu);
  const double tiles = out.is_absorbed
                           ? out.sequences * std::ceil(heads * out.queries / c.tile_rows)
                           : out.sequences * heads * std::ceil(out.queries / c.tile_rows);
  const double longest = std::min(2 * out.keys, out.context) / out.keys;
  out.walk = c.tail * out.math * gpu.sm_count / tiles * longest;
  const double width = out.is_absorbed ? 1 : dims / deepseek_dims;
  const double bytes = width * rows * (out.has_small_cache ? c.row_bytes_small : c.row_bytes);
  out.rows = moved_us(bytes, gpu);
  if (!out.is_absorbed) out.rows += expanding_us(mla, out, gpu);
  return norm({out.math, out.walk}, c.power) + out.rows;
}

void add_bound(MlaEstimate& out, double device) {
  if (device < out.fixed) return;
  const double bytes = out.memory + out.rows + out.conversion;
  const bool is_math = out.math > bytes && out.math > out.walk;
  out.bound = is_math ? Bound::tensor : out.walk > bytes ? Bound::shared : Bound::dram;
}

}  // namespace

bool mla_runs_as_decode(const Mla& mla, const GpuSpec& gpu) {
  const bool is_triton = source_of(mla, gpu) == KernelSource::triton;
  return mla.load.prefill.sequences == 0 && !(is_triton && mla.load.verifies_drafts());
}

bool mla_is_timed_with_host(const Mla& mla) {
  return mla.implementation.framework == Framework::vllm;
}

bool mla_expands_where_table_absorbs(const Mla& mla, const GpuSpec& gpu) {
  if (mla.load.prefill.sequences == 0) return false;
  if (mla.expands_cached) return true;
  return mla.implementation.is_cold && &code_of(mla, gpu) == &flash_attention_3 &&
         !absorbs_cached_latents(mla.load.prefill, mla.implementation.framework);
}

MlaEstimate estimate_mla(const Mla& mla, const GpuSpec& gpu, bool is_cold) {
  const MlaCode& code = code_of(mla, gpu);
  MlaEstimate out = start(mla, source_of(mla, gpu) == KernelSource::triton);
  const bool is_decode = mla_runs_as_decode(mla, gpu);
  const bool is_expanded =
      (is_cold || mla.expands_cached) && mla_expands_where_table_absorbs(mla, gpu);
  const double absorbed_to = out.has_small_cache ? code.short_queries_small : code.short_queries;
  out.is_absorbed = is_decode || (!is_expanded && out.queries <= absorbed_to);
  const double small = out.has_small_cache ? 1 : 0;
  out.fixed = is_decode ? code.decode.fixed + small * code.decode.small_cache
                        : code.prompt_fixed + small * code.prompt_small_cache;
  const bool has_host = mla_is_timed_with_host(mla) && &code != &trtllm;
  if (has_host && is_cold) out.fixed = graph_fixed;
  const double device =
      is_decode ? add_decode(mla, code.decode, gpu, is_cold, out)
                : add_mla_prompts(mla, out.is_absorbed ? code.absorbed : code.expanded, gpu, out);
  out.total = has_host && !is_cold ? norm({out.fixed, device}, host_power) : out.fixed + device;
  add_bound(out, device);
  return out;
}

}  // namespace foretoken

#include "kernels/estimators/mla_model.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/levelled_decodes.hpp"
#include "kernels/estimators/mla_codes.hpp"
#include "kernels/estimators/streamed_bandwidth.hpp"
#include "kernels/latent_prompts.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "kernels/tasks/latent_generation.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

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
      return mla_is_timed_with_host(mla) ? mla_codes::triton_vllm : mla_codes::triton_sglang;
    case KernelSource::trtllm:
      if (is_datacentre_blackwell(gpu)) return mla_codes::trtllm;
      return gpu.compute_capability < hopper ? mla_codes::trtllm_before_hopper
                                             : mla_codes::trtllm_hopper;
    case KernelSource::flash_attention_3:
      return mla_codes::flash_attention_3;
    default:
      return mla_codes::flash_mla;
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

/// As blackwell_decode_ns, by long contexts in SGLang's and TensorRT-LLM's tables: 128 CTAs take
/// 8.7 ns a key beside 16 rows (16-bit caches 19.5), 13.9 beside 64 (25.5) and 6.4 in pairs (13.1),
/// or, where the caches of all of them are more than DRAM brings meanwhile, 11.0 (25.2).
double generation_ns(const Mla& mla, const GpuSpec& gpu) {
  constexpr double dram_bytes = 6314;                        // a ns
  constexpr double sm_bytes = 64.1;                          // a ns
  constexpr double paired_ops = 10.8e3, single_ops = 5.0e3;  // of 16 bits, a ns and SM
  const LatentGeneration plan = latent_generation(mla, gpu);
  const Task busiest = placed_load(latent_generation_launch(mla, gpu), gpu).load.busiest;
  const double element = bytes_per_element(mla.kv_dtype);
  const double elements =
      static_cast<double>(mla.load.decode.context_tokens) * (mla.latent_dim + mla.rope_dim);
  const double ops = (plan.are_paired ? paired_ops : single_ops) * (element < 2 ? 2 : 1);
  return blackwell_decode_ns(elements * element / dram_bytes, plan.swaps
                                                                  ? busiest.bytes_loaded / sm_bytes
                                                                  : busiest.tensor_ops / ops);
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
  return mla.implementation.is_cold && &code_of(mla, gpu) == &mla_codes::flash_attention_3 &&
         !absorbs_cached_latents(mla.load.prefill, mla.implementation.framework);
}

std::optional<Mla> levelled(const Mla& mla, const GpuSpec& gpu) {
  if (!is_datacentre_blackwell(gpu)) return {};
  const auto mean = mean_decodes(mla.load);
  if (!mean || &code_of(mla, gpu) != &mla_codes::trtllm) return {};
  Mla equal = mla;
  equal.load = {};
  equal.load.decode = *mean;
  equal.load.decode =
      levelled_sums(mla.load.decode, generation_ns(mla, gpu) / generation_ns(equal, gpu));
  return equal;
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
  const bool has_host = mla_is_timed_with_host(mla) && &code != &mla_codes::trtllm;
  if (has_host && is_cold) out.fixed = graph_fixed;
  const double device =
      is_decode ? add_decode(mla, code.decode, gpu, is_cold, out)
                : add_mla_prompts(mla, out.is_absorbed ? code.absorbed : code.expanded, gpu, out);
  out.total = has_host && !is_cold ? norm({out.fixed, device}, host_power) : out.fixed + device;
  add_bound(out, device);
  return out;
}

}  // namespace foretoken

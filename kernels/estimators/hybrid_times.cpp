// Constants were chosen on AIConfigurator's tables (095f58a5) of vLLM 0.24 and SGLang 0.5.14 on
// H100, H200, B200 and L40S; the networks of the families (hybrid.cpp) correct what they leave.
#include "kernels/estimators/hybrid_times.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/attention_model.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {

double HybridTime::total() const { return fixed + std::max(memory, math) + walk; }

Bound HybridTime::bound() const {
  if (std::max(memory, math) + walk <= fixed) return Bound::launch;
  if (walk >= std::max(memory, math)) return Bound::shared;
  return math > memory ? Bound::tensor : Bound::dram;
}

namespace {

constexpr double micro = 1e-6;

/// How much longer than on an H100 what a single SM does one thing after the other takes.
double clock_stretch(const GpuSpec& gpu) {
  constexpr double reference_hz = 1.755e9;
  return reference_hz / gpu.clock.value();
}

double rows_of(std::int64_t count) { return static_cast<double>(count); }

/// us at `share` of the DRAM bandwidth, and at the L2's for what a warm launch finds there.
double memory_us(HybridTime& out, double bytes, const GpuSpec& gpu, double share, bool is_cold) {
  constexpr double l2_fill = 0.6, l2_share = 0.6;
  out.working_set = bytes / gpu.l2_size.value();
  const double hot = is_cold ? 0 : foretoken::hit_share(out.working_set, l2_fill);
  const double from_dram = bytes / (gpu.dram_bandwidth.value() * share);
  const double from_l2 = std::min(from_dram, bytes / (gpu.l2_bandwidth.value() * l2_share));
  return (hot * from_l2 + (1 - hot) * from_dram) / micro;
}

double tensor_us(double flops, DType dtype, const GpuSpec& gpu, double share) {
  double rate = gpu.tensor_rate(dtype).value();
  if (!(rate > 0)) rate = gpu.tensor_rate(activation_dtype(dtype)).value();
  if (!(rate > 0)) rate = gpu.fma_rate().value();
  return flops / (rate * share) / micro;
}

/// A chunked scan: a fixed cost of its launches, products of each chunk, and the chunks of a
/// sequence one after the other, for as many heads at a time as find room.
struct ScanConstants {
  double fixed, tensor_share, traffic, chunk_us, room;
  int chunk_tokens = 64;
};
// vLLM on Hopper and B200: FlashInfer's gated delta rule, FlashKDA. Elsewhere, and in SGLang, the
// Triton kernels of flash-linear-attention, and for Kimi its chunk_kda.
constexpr ScanConstants flashinfer_delta{9.7, 1.0, 0.33, 2.6, 1.0};
constexpr ScanConstants triton_delta{19.1, 0.26, 0.45, 2.4, 6.8};
constexpr ScanConstants flash_kda{18.3, 0.30, 1.1, 3.8, 1.2};
constexpr ScanConstants triton_kda{17.3, 0.30, 1.5, 6.7, 4.0};
// mamba_chunk_scan_combined as TensorRT-LLM runs it, on B200 alone.
constexpr ScanConstants triton_mamba{21.4, 0.30, 6.0, 1.9, 0.0, 256};

bool is_native_scan(const StateScan& scan, const GpuSpec& gpu) {
  return scan.implementation.framework == Framework::vllm &&
         is_hopper_or_datacentre_blackwell(gpu) && scan.kind != StateKind::mamba2;
}

const ScanConstants& scan_constants(const StateScan& scan, const GpuSpec& gpu) {
  const bool is_native = is_native_scan(scan, gpu);
  if (scan.kind == StateKind::mamba2) return triton_mamba;
  if (scan.kind == StateKind::kimi_delta) return is_native ? flash_kda : triton_kda;
  return is_native ? flashinfer_delta : triton_delta;
}

void add_prompts(const StateScan& scan, const GpuSpec& gpu, bool is_cold, HybridTime& out) {
  const ScanConstants& c = scan_constants(scan, gpu);
  const double chunks = std::ceil(out.queries / c.chunk_tokens);
  const double heads = scan.value_heads;
  const double state = static_cast<double>(scan.key_dim) * scan.value_dim;
  const bool is_mamba = scan.kind == StateKind::mamba2;
  const double shared_keys = is_mamba ? static_cast<double>(scan.key_heads) / heads : 2.0;
  const double within =
      c.chunk_tokens * (shared_keys * scan.key_dim + (is_mamba ? 1.0 : 2.0) * scan.value_dim);
  const double padded = out.sequences * chunks * c.chunk_tokens;
  const double flops = 2 * ((is_mamba ? 2.0 : 3.0) * state + within) * heads * padded;
  const double between = out.sequences * chunks * heads * state * (is_mamba ? 8.0 : 4.0);
  const double bytes = (state_scan_work(scan).dram_bytes.value() + between) * c.traffic;
  const double waves = std::max(out.sequences * heads * c.room / gpu.sm_count, 1.0);
  out.fixed = c.fixed;
  out.memory = memory_us(out, bytes, gpu, 1, is_cold);
  out.math = tensor_us(flops, activation_dtype(scan.dtype), gpu, c.tensor_share);
  out.walk = chunks * c.chunk_us * waves * clock_stretch(gpu);
}

/// Decodes are scored by DeepGEMM's fp8_paged_mqa_logits, which was timed with DeepSeek-V4's 64
/// heads alone. GLM-5's table (32 heads) is of the kernel for prompts, fp8_mqa_logits, which walks
/// the keys of one sequence on one SM: 259 us for 65,536 of them where the paged one takes 4.
KeyIndexer with_timed_heads(KeyIndexer index) {
  constexpr int timed_heads = 64;
  if (index.load.prefill.sequences == 0) index.heads = timed_heads;
  return index;
}

constexpr int prompt_heads = 64;  // what flash_mla_sparse_fwd pads to

/// DeepSeek-V3.2's and GLM-5's, whose keys are the latents that a query's index picks.
bool picks_latents(const SparseAttention& sparse) {
  return sparse.values_are_keys && sparse.window == 0 && sparse.selected > 0;
}

/// vLLM on Hopper reads 16-bit latents by the kernel for prompts, also where it decodes.
bool decodes_like_prompts(const SparseAttention& sparse, const GpuSpec& gpu) {
  return sparse.implementation.framework == Framework::vllm && gpu.compute_capability == hopper &&
         bytes_per_element(sparse.kv_dtype) >= 2;
}

/// Tables call all latents fp8, and flash_mla_sparse_fwd, which one of them is of, reads 16 bit.
SparseAttention in_timed_format(SparseAttention sparse, const GpuSpec& gpu) {
  if (!sparse.values_are_keys) return sparse;
  if (picks_latents(sparse) && sparse.load.prefill.sequences == 0 &&
      decodes_like_prompts(sparse, gpu)) {
    sparse.query_heads = std::max(sparse.query_heads, prompt_heads);
  }
  sparse.kv_dtype = DType::fp8;
  return sparse;
}

}  // namespace

/// GLM-5's table (64 heads) is of the kernel for prompts, which gives a query one SM; DeepSeek-V4's
/// (64 and 128) are of those that engines decode by, which give it as many as are free.
std::vector<Kernel> with_more_heads(const Kernel& kernel, const GpuSpec& gpu) {
  const auto* sparse = std::get_if<SparseAttention>(&kernel);
  std::vector<Kernel> larger;
  if (sparse == nullptr || !picks_latents(*sparse) || sparse->load.prefill.sequences > 0 ||
      decodes_like_prompts(*sparse, gpu)) {
    return larger;
  }
  for (const int heads : {64, 128}) {
    if (heads <= sparse->query_heads) continue;
    SparseAttention more = *sparse;
    more.query_heads = heads;
    larger.emplace_back(more);
  }
  return larger;
}

Kernel as_timed(const Kernel& kernel, const GpuSpec& gpu) {
  const auto* index = std::get_if<KeyIndexer>(&kernel);
  if (index != nullptr && index->block == 1) return with_timed_heads(*index);
  if (const auto* sparse = std::get_if<SparseAttention>(&kernel))
    return in_timed_format(*sparse, gpu);
  const auto* scan = std::get_if<StateScan>(&kernel);
  if (scan == nullptr || scan->load.prefill_sequences == 0) return kernel;
  StateScan filled = *scan;
  StateLoad& load = filled.load;
  const std::int64_t row = load.prefill_sequences * scan_constants(filled, gpu).chunk_tokens;
  load.prefill_tokens = (load.prefill_tokens + row - 1) / row * row;
  return filled;
}

/// Decodes are one pass over the states; drafts that are verified keep one each.
HybridTime state_scan_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& scan = std::get<StateScan>(kernel);
  HybridTime out;
  out.is_prompt = scan.load.prefill_sequences > 0;
  out.sequences = rows_of(out.is_prompt ? scan.load.prefill_sequences : scan.load.decode_sequences);
  out.queries = rows_of(out.is_prompt ? scan.load.prefill_tokens : scan.load.decode_tokens) /
                std::max(out.sequences, 1.0);
  out.context = out.queries;
  out.width = scan.value_heads;
  out.tasks = out.sequences * scan.value_heads;
  out.is_native = is_native_scan(scan, gpu);
  out.is_other_kind = scan.kind != StateKind::delta_net;
  if (out.is_prompt) {
    add_prompts(scan, gpu, is_cold, out);
    return out;
  }
  constexpr double fixed = 4.1, dram_share = 0.84;
  const double drafts = rows_of(scan.load.decode_tokens - scan.load.decode_sequences);
  const double states = drafts * scan.value_heads * scan.key_dim * scan.value_dim *
                        bytes_per_element(scan.state_dtype);
  out.fixed = fixed;
  out.memory =
      memory_us(out, state_scan_work(scan).dram_bytes.value() + states, gpu, dram_share, is_cold);
  return out;
}

HybridTime state_convolution_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& convolution = std::get<StateConvolution>(kernel);
  const StateLoad& load = convolution.load;
  HybridTime out;
  out.is_prompt = load.prefill_sequences > 0;
  out.sequences = rows_of(load.sequences());
  out.queries = out.context = rows_of(load.tokens()) / std::max(out.sequences, 1.0);
  out.width = static_cast<double>(convolution.channels);
  out.tasks = rows_of(load.tokens());
  // SGLang's is copied from vLLM's, which TensorRT-LLM's is not.
  out.is_native = convolution.implementation.framework == Framework::trtllm;
  out.fixed = out.is_prompt ? 2.7 : 1.8;
  out.memory = memory_us(out, state_convolution_work(convolution).dram_bytes.value(), gpu,
                         out.is_prompt ? 0.66 : 0.72, is_cold);
  return out;
}

/// DeepGEMM's fp8 logits, of which about half of what the mask hides is computed, and SGLang's
/// top-k, a CTA a query.
HybridTime key_indexer_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& index = std::get<KeyIndexer>(kernel);
  constexpr double logits_fixed = 4.3, tensor_share = 0.45, dram_share = 0.8, hidden_share = 0.5;
  constexpr double topk_fixed = 1.9, topk_query = 1.46, topk_thousand_keys = 0.241;
  const double queries = rows_of(index.load.query_tokens());
  HybridTime out;
  out.fixed = queries == 0 ? topk_fixed : logits_fixed;
  if (queries == 0) return out;
  const double pairs = attention_pairs(index.load, true, 0) / index.ratio;
  out.sequences = rows_of(index.load.prefill.sequences + index.load.decode.sequences);
  out.queries = queries / out.sequences;
  out.context = kv_tokens_read(index.load, 0) / out.sequences / index.ratio;
  out.width = index.heads;
  out.tasks = queries;
  out.is_prompt = index.load.prefill.sequences > 0;
  out.is_other_kind = index.ratio > 1;
  const double computed = pairs + hidden_share * std::max(queries * out.context - pairs, 0.0);
  out.memory = memory_us(out, key_indexer_work(index).dram_bytes.value(), gpu, dram_share, is_cold);
  out.math = tensor_us(2 * computed * index.heads * index.head_dim, index.dtype, gpu, tensor_share);
  if (out.context * index.ratio > rows_of(index.selected)) {
    const double mean_keys = pairs / queries;
    out.walk = topk_fixed + std::ceil(queries / gpu.sm_count) *
                                (topk_query + topk_thousand_keys * mean_keys / 1000) *
                                clock_stretch(gpu);
  }
  return out;
}

/// FlashMLA's sparse kernels: prompts have a CTA for each query and 64 heads, which walks all the
/// slots that were picked, filled or not; decodes are split over the SMs.
HybridTime sparse_attention_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& sparse = std::get<SparseAttention>(kernel);
  constexpr double tile_keys = 64, tile_heads = 64;
  constexpr double prompt_fixed = 8.6, prompt_share = 0.59, prompt_share_b200 = 0.29;
  constexpr double decode_fixed = 15.7, decode_share = 0.73, decode_query = 8.2;
  const AttentionLoad& load = sparse.load;
  const double queries = rows_of(load.query_tokens());
  HybridTime out;
  out.is_prompt = load.prefill.sequences > 0;
  out.fixed = out.is_prompt ? prompt_fixed : decode_fixed;
  if (queries == 0) return out;
  const bool has_more = sparse.window == 0 || sparse.selected > 0 || sparse.ratio > 1;
  double keys = 0;
  if (has_more) {
    keys = out.is_prompt && sparse.selected > 0
               ? rows_of(sparse.selected)
               : selected_pairs(load, sparse.selected, sparse.ratio) / queries;
  }
  if (sparse.window > 0) keys += attention_pairs(load, true, sparse.window) / queries;
  keys = std::ceil(keys / tile_keys) * tile_keys;
  const double heads = static_cast<double>(sparse.query_heads) / sparse.kv_heads;
  out.sequences = rows_of(load.prefill.sequences + load.decode.sequences);
  out.queries = queries / out.sequences;
  out.context = kv_tokens_read(load, 0) / out.sequences;
  out.width = sparse.query_heads;
  out.tasks = queries * sparse.kv_heads * std::ceil(heads / tile_heads);
  out.is_other_kind = sparse.window > 0;
  const double flops = 2 * tile_heads * keys * (sparse.key_dim + sparse.value_dim);
  const bool is_b200 = gpu.compute_capability >= blackwell;
  const double share = !out.is_prompt ? decode_share : is_b200 ? prompt_share_b200 : prompt_share;
  const double tile_us =
      tensor_us(flops, activation_dtype(sparse.dtype), gpu, share) * gpu.sm_count;
  out.memory = memory_us(out, sparse_attention_work(sparse).dram_bytes.value(), gpu, 0.8, is_cold);
  out.math = out.is_prompt ? std::ceil(out.tasks / gpu.sm_count) * tile_us
                           : out.tasks / gpu.sm_count * (tile_us + decode_query);
  return out;
}

/// TileLang's kernels (vLLM, SGLang), one of the two sites that a row of the table has.
HybridTime hyper_connection_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& connection = std::get<HyperConnection>(kernel);
  HybridTime out;
  out.is_prompt = connection.part == HyperPart::pre;
  out.sequences = 1;
  out.queries = out.context = out.tasks = rows_of(connection.tokens);
  out.width = static_cast<double>(connection.hidden);
  out.fixed = out.is_prompt ? 8.9 : 3.1;
  out.memory = memory_us(out, hyper_connection_work(connection).dram_bytes.value(), gpu,
                         out.is_prompt ? 0.45 : 0.87, is_cold);
  return out;
}

}  // namespace foretoken

// Constants were chosen on AIConfigurator's tables (095f58a5) of vLLM 0.24 and SGLang 0.5.14 on
// H100, H200, B200 and L40S; the networks of the families (hybrid.cpp) correct what they leave.
#include "kernels/estimators/hybrid_times.hpp"

#include <algorithm>
#include <cmath>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/hybrid_parts.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {

namespace {

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

}  // namespace

Kernel as_timed(const Kernel& kernel, const GpuSpec& gpu) {
  if (const auto* index = std::get_if<KeyIndexer>(&kernel)) return index_as_timed(*index);
  if (const auto* sparse = std::get_if<SparseAttention>(&kernel)) {
    return attention_as_timed(*sparse);
  }
  const auto* scan = std::get_if<StateScan>(&kernel);
  if (scan == nullptr || scan->load.prefill_sequences == 0) return kernel;
  StateScan filled = *scan;
  StateLoad& load = filled.load;
  const std::int64_t chunk = scan_constants(filled, gpu).chunk_tokens;
  const std::int64_t row = load.prefill_sequences * chunk;
  load.prefill_tokens = (load.prefill_tokens + row - 1) / row * row;
  load.prefill_longest = (load.prefill_longest + chunk - 1) / chunk * chunk;
  if (load.prefill_longest * load.prefill_sequences <= load.prefill_tokens) {
    load.prefill_longest = 0;  // in whole chunks they are equal
  }
  return filled;
}

/// Decodes are one pass over the states; drafts that are verified keep one each. Prompts of unequal
/// lengths take as long as so many of the longest: no SM helps another one with it.
HybridTime state_scan_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& scan = std::get<StateScan>(kernel);
  HybridTime out;
  out.is_prompt = scan.load.prefill_sequences > 0;
  if (out.is_prompt) {
    out.queries = std::max(scan.load.longest_prompt(), 1.0);
    out.sequences = rows_of(scan.load.prefill_tokens) / out.queries;
  } else {
    out.sequences = rows_of(scan.load.decode_sequences);
    out.queries = rows_of(scan.load.decode_tokens) / std::max(out.sequences, 1.0);
  }
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

/// A product of each head, in tiles of 64 rows. What is quantised before it (SGLang's per tensor,
/// TensorRT-LLM's per block on Hopper) is part of the call.
HybridTime heads_product_time(const Kernel& kernel, const GpuSpec& gpu, bool is_cold) {
  const auto& product = std::get<BatchedGemm>(kernel);
  constexpr double fixed = 3.3, fixed_8bit = 5.5, tile_rows = 64, tensor_share = 0.65,
                   dram_share = 0.8;
  const bool is_8bit = bytes_per_element(product.dtype) < 2;
  HybridTime out;
  out.sequences = product.batch;
  out.queries = rows_of(product.m);
  out.context = rows_of(product.k);
  out.width = rows_of(product.n);
  out.tasks = product.batch * std::ceil(out.queries / tile_rows) * std::ceil(out.width / 128);
  out.is_native = product.implementation.framework == Framework::trtllm;
  out.is_other_kind = is_8bit;
  out.fixed = is_8bit ? fixed_8bit : fixed;
  const double rows = std::ceil(out.queries / tile_rows) * tile_rows;
  out.memory = memory_us(out, kernel_work(kernel).dram_bytes.value(), gpu, dram_share, is_cold);
  out.math = tensor_us(2 * product.batch * rows * out.width * out.context, product.dtype, gpu,
                       tensor_share);
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

// What a kernel has to do whatever the implementation: operations on each pipe, and the bytes that
// must come in and go out. Pure counting, shared by the predictors that need it; how tiles re-read
// operands and how many SMs are busy is a decomposer's business.
// What it leaves out: page tables, scales of block formats on activations, and padding.
#pragma once

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"
#include "sim/base/quantity.hpp"

namespace foretoken {

struct KernelWork {
  double tensor_flops = 0;  // matrix products; a multiply-add counts as 2
  /// Format of those products. fp32: on the FMA pipes where the GPU has no fp32 matrix path.
  DType tensor_dtype = DType::bf16;
  double fma_ops = 0;  // fp32 lanes: a fused multiply-add, an add or a multiply is 1 each
  double xu_ops = 0;   // exp2, reciprocal, reciprocal square root
  Bytes dram_bytes;    // what starts or ends in memory, each byte once
  Bytes weight_bytes;  // the part of dram_bytes that is weights
  /// dram_bytes, and what the launches inside one kernel hand to each other (read and written).
  Bytes l2_bytes;

  friend bool operator==(const KernelWork&, const KernelWork&) = default;
};

/// Throws PredictionError for a collective, which moves bytes between GPUs and not inside one.
KernelWork kernel_work(const Kernel& kernel);

/// Query-key pairs of a load. Exact from a list of sequences, and from sums without a window;
/// from sums with a window, or without a causal mask, see the bounds in kernel_work_attention.cpp.
double attention_pairs(const AttentionLoad& load, bool causal, std::int64_t window);
/// Tokens whose keys and values are read, each once a sequence: a window spares those that no query
/// of the sequence sees. From sums an upper bound, exact when no or every context exceeds its
/// window.
double kv_tokens_read(const AttentionLoad& load, std::int64_t window);
KernelWork attention_work(const Attention& kernel);
KernelWork mla_work(const Mla& kernel);

/// Keys that the queries of a load see beyond any window, at most `selected` each (0 = all), where
/// `ratio` tokens share a key: query-key pairs. Exact from a list of sequences but for the ragged
/// end of each prompt; from sums as attention_pairs() with a window.
double selected_pairs(const AttentionLoad& load, std::int64_t selected, int ratio);
KernelWork state_scan_work(const StateScan& kernel);
KernelWork state_convolution_work(const StateConvolution& kernel);
KernelWork key_indexer_work(const KeyIndexer& kernel);
/// Keys that all queries of a sequence pick together, in what one of them picks: tables' prompts
/// take as long before 4,096 as before 202,752 tokens (GLM-5, H100: 128 queries 60 us, where 90
/// would read all of the cache).
inline constexpr std::int64_t keys_picked_together = 8;
KernelWork sparse_attention_work(const SparseAttention& kernel);
KernelWork hyper_connection_work(const HyperConnection& kernel);

KernelWork moe_work(const FusedMoe& kernel);
/// The format in which `gpu` multiplies weights stored as `weights`. Those in 4 bit are unpacked to
/// 16 bit where it has no 4-bit path (gpt-oss on Hopper: vLLM's Triton and Marlin kernels), and
/// weight-only formats are everywhere.
DType product_format(DType weights, const GpuSpec& gpu);

}  // namespace foretoken

// Work of recurrences, sparse attention with its index, and hyper-connections. What an
// implementation adds (states kept for every chunk, scores in memory, keys gathered anew for every
// query) is an estimator's business: here is what none can do without.
#include <algorithm>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

double size_in_memory(DType dtype) { return bytes_per_element(activation_dtype(dtype)); }

/// Passes over a key_dim x value_dim state that a token takes: the delta rule reads it along the
/// key, adds an outer product and reads it along the query; a state space leaves the first out.
double state_passes(StateKind kind) { return kind == StateKind::mamba2 ? 2 : 3; }

double as_double(std::int64_t value) { return static_cast<double>(value); }

}  // namespace

double selected_pairs(const AttentionLoad& load, std::int64_t selected, int ratio) {
  return attention_pairs(load, true, selected * ratio) / ratio;
}

// Products of prompts run on tensor cores, a decode's on the FMA pipes.
KernelWork state_scan_work(const StateScan& kernel) {
  const double heads = kernel.value_heads;
  const double state = static_cast<double>(kernel.key_dim) * kernel.value_dim;
  const double size = size_in_memory(kernel.dtype);
  const double keys = 2.0 * kernel.key_heads * kernel.key_dim;  // and queries
  const double values = 2.0 * heads * kernel.value_dim;         // in and out
  const double decay = kernel.kind == StateKind::kimi_delta ? heads * kernel.key_dim : heads;
  KernelWork work;
  work.tensor_dtype = activation_dtype(kernel.dtype);
  work.tensor_flops =
      2 * state_passes(kernel.kind) * heads * state * as_double(kernel.load.prefill_tokens);
  work.fma_ops = state_passes(kernel.kind) * heads * state * as_double(kernel.load.decode_tokens);
  work.xu_ops = decay * as_double(kernel.load.tokens());
  const double states = 2 * as_double(kernel.load.sequences()) * heads * state *
                        bytes_per_element(kernel.state_dtype);
  work.dram_bytes = work.l2_bytes =
      Bytes(as_double(kernel.load.tokens()) * (keys + values + decay) * size + states);
  return work;
}

KernelWork state_convolution_work(const StateConvolution& kernel) {
  const double size = size_in_memory(kernel.dtype);
  const double tokens = as_double(kernel.load.tokens());
  const double channels = as_double(kernel.channels);
  const double kept = 2 * as_double(kernel.load.sequences()) * channels * (kernel.taps - 1);
  KernelWork work;
  work.fma_ops = tokens * channels * kernel.taps;
  work.xu_ops = 2 * tokens * channels;  // SiLU
  work.weight_bytes = Bytes(channels * kernel.taps * size);
  work.dram_bytes = work.l2_bytes =
      work.weight_bytes + Bytes((2 * tokens * channels + kept) * size);
  return work;
}

// A score a head, then ReLU and a weighted sum over the heads; block choices write a score a block.
KernelWork key_indexer_work(const KeyIndexer& kernel) {
  constexpr double score_bytes = 4, pick_bytes = 4;
  const double pairs = attention_pairs(kernel.load, true, 0) / kernel.ratio;
  const double queries = as_double(kernel.load.query_tokens());
  const double size = bytes_per_element(kernel.dtype);
  const double keys = kv_tokens_read(kernel.load, 0) / kernel.ratio;
  KernelWork work;
  work.tensor_dtype = kernel.dtype;
  work.tensor_flops = 2 * pairs * kernel.heads * kernel.head_dim;
  work.fma_ops = pairs * kernel.heads;
  const double picks = queries * as_double(kernel.selected) / kernel.block;
  work.dram_bytes = Bytes((queries * kernel.heads + keys) * kernel.head_dim * size +
                          std::min(picks, pairs) * pick_bytes);
  work.l2_bytes = work.dram_bytes + Bytes(2 * pairs / kernel.block * score_bytes);
  return work;
}

KernelWork sparse_attention_work(const SparseAttention& kernel) {
  const AttentionLoad& load = kernel.load;
  const double latest = kernel.window > 0 ? attention_pairs(load, true, kernel.window) : 0;
  const bool has_more = kernel.window == 0 || kernel.selected > 0 || kernel.ratio > 1;
  const double chosen = has_more ? selected_pairs(load, kernel.selected, kernel.ratio) : 0;
  const double heads = kernel.query_heads;
  const double queries = as_double(load.query_tokens());
  const double scores = (latest + chosen) * heads;
  double keys = has_more ? std::min(kv_tokens_read(load, 0) / kernel.ratio, chosen) : 0;
  if (kernel.selected > 0) {
    const auto sequences = as_double(load.prefill.sequences + load.decode.sequences);
    keys = std::min(keys, sequences * as_double(keys_picked_together * kernel.selected));
  }
  if (kernel.window > 0) keys += kv_tokens_read(load, kernel.window);
  const double cached_dim =
      kernel.values_are_keys ? kernel.key_dim : kernel.key_dim + kernel.value_dim;
  constexpr double softmax_fma = 4;  // as other attention
  KernelWork work;
  work.tensor_dtype = activation_dtype(kernel.dtype);
  work.tensor_flops = 2 * scores * (kernel.key_dim + kernel.value_dim);
  work.fma_ops = softmax_fma * scores;
  work.xu_ops = scores + queries * heads;
  work.dram_bytes = work.l2_bytes =
      Bytes(queries * heads * (kernel.key_dim + kernel.value_dim) * size_in_memory(kernel.dtype) +
            keys * kernel.kv_heads * cached_dim * bytes_per_element(kernel.kv_dtype));
  return work;
}

// pre: one product makes the mixing weights ((2 + streams) x streams of them, in fp32) from all
// streams, and their weighted sum is the block's input. post: every stream is a mix of all and of
// the block's output.
KernelWork hyper_connection_work(const HyperConnection& kernel) {
  const double streams = kernel.streams;
  const double values = as_double(kernel.tokens) * as_double(kernel.hidden);
  const double size = size_in_memory(kernel.dtype);
  const double mixes = (2 + streams) * streams;
  KernelWork work;
  if (kernel.part == HyperPart::pre) {
    constexpr double weight_size = 4;
    work.tensor_dtype = activation_dtype(kernel.dtype);
    work.tensor_flops = 2 * values * streams * mixes;
    work.fma_ops = values * streams;
    work.weight_bytes = Bytes(as_double(kernel.hidden) * streams * mixes * weight_size);
    work.dram_bytes = work.weight_bytes + Bytes(values * (streams + 1) * size);
  } else {
    work.fma_ops = values * (streams + 1) * streams;
    work.dram_bytes = Bytes(values * (2 * streams + 1) * size);
  }
  work.l2_bytes = work.dram_bytes;
  return work;
}

}  // namespace foretoken

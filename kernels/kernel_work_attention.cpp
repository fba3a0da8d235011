// Work of attention on a KV cache: two matrix products over the visible query-key pairs, one
// exponential a score, and one pass over each sequence's cache. Grouped-query attention reads a KV
// head once for all of its query heads.
#include <algorithm>

#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

/// Softmax on the FMA pipes, a score: running maximum, scale and subtract, sum, conversion.
constexpr double softmax_fma_per_score = 4.0;

/// fp8 attention multiplies in fp8; every other format in the 16 (or 32) bit of the activations,
/// whatever the cache holds.
DType product_dtype(DType dtype) { return dtype == DType::fp8 ? dtype : activation_dtype(dtype); }

/// Keys that the queries of one slice see together.
std::int64_t visible_keys(const SequenceSlice& slice, std::int64_t window) {
  if (window == 0) return slice.context_tokens;
  return std::min(slice.context_tokens, window + slice.query_tokens - 1);
}

double pairs_of(const SequenceSlice& slice, bool causal, std::int64_t window) {
  if (causal) return causal_pairs(slice, window);
  const std::int64_t keys =
      window > 0 ? std::min(slice.context_tokens, window) : slice.context_tokens;
  return static_cast<double>(slice.query_tokens) * static_cast<double>(keys);
}

/// From sums. Windowed: every query sees at most `window` keys, an upper bound that is exact when
/// all contexts are within it or all far beyond. Without a mask: sum q*c = causal pairs +
/// sum q(q-1)/2, where sum q^2 >= (sum q)^2 / n: a lower bound, exact for equal query counts.
double pairs_of(const LoadSums& sums, bool causal, std::int64_t window) {
  if (sums.sequences == 0) return 0;
  const auto queries = static_cast<double>(sums.query_tokens);
  double pairs = sums.causal_pairs;
  if (!causal) pairs += queries * (queries / static_cast<double>(sums.sequences) - 1) / 2;
  if (window > 0) pairs = std::min(pairs, queries * static_cast<double>(window));
  return pairs;
}

double keys_of(const LoadSums& sums, std::int64_t window) {
  const std::int64_t keys =
      window > 0 && sums.context_tokens_max > window
          ? std::min(sums.context_tokens, sums.sequences * (window - 1) + sums.query_tokens)
          : sums.context_tokens;
  return static_cast<double>(keys);
}

}  // namespace

double attention_pairs(const AttentionLoad& load, bool causal, std::int64_t window) {
  const bool sums_suffice = load.sequences.empty() || (causal && window == 0);
  if (sums_suffice) {
    return pairs_of(load.prefill, causal, window) + pairs_of(load.decode, causal, window);
  }
  double pairs = 0;
  for (const SequenceSlice& slice : load.sequences) pairs += pairs_of(slice, causal, window);
  return pairs;
}

double kv_tokens_read(const AttentionLoad& load, std::int64_t window) {
  if (load.sequences.empty() || window == 0) {
    return keys_of(load.prefill, window) + keys_of(load.decode, window);
  }
  std::int64_t keys = 0;
  for (const SequenceSlice& slice : load.sequences) keys += visible_keys(slice, window);
  return static_cast<double>(keys);
}

KernelWork attention_work(const Attention& kernel) {
  const double scores = attention_pairs(kernel.load, kernel.causal, kernel.window) *
                        static_cast<double>(kernel.query_heads);
  const auto queries = static_cast<double>(kernel.load.query_tokens());
  const double rows = queries * static_cast<double>(kernel.query_heads);
  const double query_and_output =
      2 * rows * kernel.head_dim * bytes_per_element(activation_dtype(kernel.dtype));
  const double cache = kv_tokens_read(kernel.load, kernel.window) * 2 * kernel.kv_heads *
                       kernel.head_dim * bytes_per_element(kernel.kv_dtype);
  KernelWork work;
  work.tensor_flops = 4 * scores * kernel.head_dim;
  work.tensor_dtype = product_dtype(kernel.dtype);
  work.fma_ops = softmax_fma_per_score * scores;
  work.xu_ops = scores + rows;  // an exponential a score, a reciprocal a row
  work.dram_bytes = work.l2_bytes = Bytes(query_and_output + cache);
  return work;
}

namespace {

/// Operations of one kind of sequences, whichever form has fewer: absorbed, the up-projections are
/// part of the query and the output, scores are taken over latent + rope dimensions, and the values
/// are the latent itself, shared by all heads (decode); expanded, keys and values of all heads are
/// made from the latent first (prompts).
double mla_flops(const Mla& kernel, double pairs, double keys) {
  const double absorbed = 2 * pairs * (2.0 * kernel.latent_dim + kernel.rope_dim);
  const auto plain = static_cast<double>(kernel.nope_dim + kernel.value_dim);
  const double expanded =
      2 * pairs * (plain + kernel.rope_dim) + 2 * keys * kernel.latent_dim * plain;
  return kernel.query_heads * std::min(absorbed, expanded);
}

}  // namespace

KernelWork mla_work(const Mla& kernel) {
  const AttentionLoad& load = kernel.load;
  const double heads = kernel.query_heads;
  const double scores = attention_pairs(load, true, 0) * heads;
  const double rows = static_cast<double>(load.query_tokens()) * heads;
  const double key_dim = kernel.latent_dim + kernel.rope_dim;
  const double query_and_output =
      heads * bytes_per_element(activation_dtype(kernel.dtype)) *
      (static_cast<double>(load.prefill.query_tokens) *
           static_cast<double>(kernel.nope_dim + kernel.rope_dim + kernel.value_dim) +
       static_cast<double>(load.decode.query_tokens) * (key_dim + kernel.latent_dim));
  const double cache = kv_tokens_read(load, 0) * key_dim * bytes_per_element(kernel.kv_dtype);
  KernelWork work;
  for (const LoadSums& sums : {load.prefill, load.decode}) {
    work.tensor_flops += mla_flops(kernel, pairs_of(sums, true, 0), keys_of(sums, 0));
  }
  work.tensor_dtype = product_dtype(kernel.dtype);
  work.fma_ops = softmax_fma_per_score * scores;
  work.xu_ops = scores + rows;
  work.dram_bytes = work.l2_bytes = Bytes(query_and_output + cache);
  return work;
}

}  // namespace foretoken

// Work of matrix products and of the kernels that stream: norms, rotary embedding, cache writes,
// activation, embedding, sampling, top-k. Attention and mixture of experts have files of their own.
// Operation counts of streaming kernels are those of the plain formula, an instruction lane each;
// they are memory-bound everywhere and the counts only matter on parts with few FMA or XU lanes.
#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

constexpr double index_size = 8.0;  // bytes of a token id, position or cache slot: int64

/// A kernel that passes once over its data.
KernelWork streaming(double fma_ops, double xu_ops, double bytes, double weight_bytes = 0) {
  KernelWork work;
  work.fma_ops = fma_ops;
  work.xu_ops = xu_ops;
  work.weight_bytes = Bytes(weight_bytes);
  work.dram_bytes = work.l2_bytes = Bytes(bytes + weight_bytes);
  return work;
}

double product(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

double activation_size(DType dtype) { return bytes_per_element(activation_dtype(dtype)); }

KernelWork work_of(const Gemm& kernel) {
  const double weight_size = bytes_per_element(kernel.dtype);
  const double wide = activation_size(kernel.dtype);
  const double inputs = product(kernel.m, kernel.k);
  const double outputs = product(kernel.m, kernel.n);
  // PyTorch's product alone finds its inputs quantised.
  const bool is_bare =
      kernel.implementation.framework == Framework::pytorch && !is_weight_only(kernel.dtype);
  KernelWork work;
  work.tensor_flops = 2 * inputs * static_cast<double>(kernel.n);
  work.tensor_dtype = kernel.dtype;
  work.weight_bytes = Bytes(product(kernel.n, kernel.k) * weight_size);
  work.dram_bytes =
      work.weight_bytes + Bytes(inputs * (is_bare ? weight_size : wide)) + Bytes(outputs * wide);
  work.l2_bytes = work.dram_bytes;
  if (weight_size < wide && !is_bare && !is_weight_only(kernel.dtype)) {
    // Quantised beforehand: a 16-bit read (counted above) and a narrow write, which the product
    // reads back from the L2. Two operations a value: magnitude for the scale, then the scaling.
    work.fma_ops = 2 * inputs;
    work.dram_bytes += Bytes(inputs * weight_size);
    work.l2_bytes += Bytes(2 * inputs * weight_size);
  }
  return work;
}

KernelWork work_of(const BatchedGemm& kernel) {
  const Gemm one{.m = kernel.m, .n = kernel.n, .k = kernel.k, .dtype = kernel.dtype};
  KernelWork work = work_of(one);
  work.tensor_flops *= kernel.batch;
  work.fma_ops *= kernel.batch;
  work.weight_bytes *= kernel.batch;
  work.dram_bytes *= kernel.batch;
  work.l2_bytes *= kernel.batch;
  return work;
}

// What is there already is read, added to and written.
KernelWork work_of(const LowRank& kernel) {
  const double size = activation_size(kernel.dtype);
  KernelWork work;
  work.tensor_flops = 2 * product(kernel.tokens, kernel.in) * static_cast<double>(kernel.out);
  work.tensor_dtype = activation_dtype(kernel.dtype);
  work.weight_bytes = Bytes(static_cast<double>(kernel.adapters) * kernel.weights_of_one());
  work.dram_bytes = work.l2_bytes =
      work.weight_bytes + Bytes(product(kernel.tokens, kernel.in + 2 * kernel.out) * size);
  return work;
}

KernelWork work_of(const Attention& kernel) { return attention_work(kernel); }
KernelWork work_of(const Mla& kernel) { return mla_work(kernel); }
KernelWork work_of(const FusedMoe& kernel) { return moe_work(kernel); }
KernelWork work_of(const StateScan& kernel) { return state_scan_work(kernel); }
KernelWork work_of(const StateConvolution& kernel) { return state_convolution_work(kernel); }
KernelWork work_of(const KeyIndexer& kernel) { return key_indexer_work(kernel); }
KernelWork work_of(const SparseAttention& kernel) { return sparse_attention_work(kernel); }
KernelWork work_of(const HyperConnection& kernel) { return hyper_connection_work(kernel); }

// Square and sum (1), times the row's scale (1), times the weight (1); one rsqrt a row.
KernelWork norm(double rows, double dim, double dtype_size, double streams, double fma_per_value) {
  const double values = rows * dim;
  return streaming(fma_per_value * values, rows, streams * values * dtype_size, dim * dtype_size);
}

KernelWork work_of(const RmsNorm& kernel) {
  return norm(static_cast<double>(kernel.tokens), static_cast<double>(kernel.dim),
              activation_size(kernel.dtype), 2, 3);
}

// Reads the input and the residual, writes both the new residual and its norm.
KernelWork work_of(const FusedAddRmsNorm& kernel) {
  return norm(static_cast<double>(kernel.tokens), static_cast<double>(kernel.dim),
              activation_size(kernel.dtype), 4, 4);
}

// In place; one weight of head_dim for the query heads and one for the key heads.
KernelWork work_of(const QkNorm& kernel) {
  KernelWork work = norm(product(kernel.tokens, kernel.heads), kernel.head_dim,
                         activation_size(kernel.dtype), 2, 3);
  const Bytes second_weight = work.weight_bytes;
  work.weight_bytes += second_weight;
  work.dram_bytes += second_weight;
  work.l2_bytes += second_weight;
  return work;
}

// In place; a row of cosines and sines (head_dim together) and a position a token. A pair of values
// turns with two multiplies and two multiply-adds.
KernelWork work_of(const Rope& kernel) {
  const double values = product(kernel.tokens, kernel.heads) * kernel.head_dim;
  const double size = activation_size(kernel.dtype);
  const auto tokens = static_cast<double>(kernel.tokens);
  return streaming(2 * values, 0,
                   2 * values * size + tokens * (kernel.head_dim * size + index_size));
}

// Reads keys and values as computed, writes them as cached; scaling costs one multiply a value.
KernelWork work_of(const KvWrite& kernel) {
  const double values = 2 * product(kernel.tokens, kernel.kv_heads) * kernel.head_dim;
  const double read = activation_size(kernel.dtype);
  const double written = bytes_per_element(kernel.kv_dtype);
  return streaming(written < read ? values : 0, 0,
                   values * (read + written) + static_cast<double>(kernel.tokens) * index_size);
}

// gate / (1 + exp2(-gate log2 e)) * up: scale, add and two multiplies; exp2 and reciprocal.
KernelWork work_of(const SiluAndMul& kernel) {
  const double values = product(kernel.tokens, kernel.dim);
  return streaming(4 * values, 2 * values, 3 * values * activation_size(kernel.dtype));
}

// Rows gathered from the table and written.
KernelWork work_of(const Embedding& kernel) {
  const double row_bytes = product(kernel.tokens, kernel.dim) * activation_size(kernel.dtype);
  return streaming(0, 0, row_bytes + static_cast<double>(kernel.tokens) * index_size, row_bytes);
}

// Launches that each stream the rows, as PyTorch runs them: cast the 16-bit logits to fp32 (2 + 4
// bytes), softmax (4 + 4), draw by comparing probability over noise (4); greedy: cast, and find the
// largest (4). All counted as memory traffic: 128 rows of a 128,000 vocabulary in fp32 exceed the
// largest L2.
KernelWork work_of(const Sampling& kernel) {
  const bool is_greedy = kernel.method == SamplingMethod::greedy;
  const double bytes_per_logit = is_greedy ? 2 + 4 + 4 : 2 + 4 + 4 + 4 + 4;
  const double logits = product(kernel.rows, kernel.vocabulary);
  return streaming((is_greedy ? 2 : 4) * logits, is_greedy ? 0 : logits,
                   logits * bytes_per_logit + static_cast<double>(kernel.rows) * index_size);
}

KernelWork work_of(const DraftVerification& kernel) {
  const bool is_greedy = kernel.method == SamplingMethod::greedy;
  const double logits = product(kernel.rows, kernel.vocabulary);
  return streaming((is_greedy ? 2 : 5) * logits, is_greedy ? 0 : logits, kernel.bytes());
}

// Softmax over the 16-bit logits, then the k largest one after the other; writes a weight (fp32),
// an expert and a source row (int32 each) for each pick.
KernelWork work_of(const TopKRouting& kernel) {
  constexpr double bytes_per_logit = 2;
  constexpr double bytes_per_pick = 4 + 4 + 4;
  const double logits = product(kernel.tokens, kernel.experts);
  return streaming((4.0 + kernel.topk) * logits, logits,
                   logits * bytes_per_logit + product(kernel.tokens, kernel.topk) * bytes_per_pick);
}

KernelWork work_of(const Collective& kernel) {
  throw PredictionError(
      fmt::format("{} moves data between GPUs: no GPU predictor prices it; give a cluster and use "
                  "collective_time",
                  enum_name(kernel.op)));
}

}  // namespace

DType product_format(DType weights, const GpuSpec& gpu) {
  const bool is_stored_only = is_weight_only(weights) || (bytes_per_element(weights) < 1 &&
                                                          !(gpu.tensor_rate(weights).value() > 0));
  return is_stored_only ? activation_dtype(weights) : weights;
}

KernelWork kernel_work(const Kernel& kernel) {
  return std::visit([](const auto& alternative) { return work_of(alternative); }, kernel);
}

}  // namespace foretoken

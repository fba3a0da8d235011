// Kernels that pass once over their data, a CTA a token: activation (FlashInfer 0.6.18, checked
// against recorded launches), rotary embedding, cache write and embedding look-up (block sizes as
// in vLLM 0.11: up to 512 threads for heads, up to 1,024 for rows).
#include <algorithm>

#include "kernels/tasks/decomposers/decomposer.hpp"

namespace foretoken {
namespace {

constexpr double vector_bytes = 16;
constexpr double index_bytes = 8;  // a token id, position or cache slot: int64
constexpr int registers = 31;

int row_threads(double values, double size, int threads_max) {
  const auto vectors = static_cast<std::int64_t>(values * size / vector_bytes);
  return static_cast<int>(std::clamp<std::int64_t>(vectors, 32, threads_max));
}

Decomposition one_launch(Launch launch) {
  Decomposition result;
  result.launches.push_back(std::move(launch));
  return result;
}

}  // namespace

// gate / (1 + exp2(-gate log2 e)) * up: scale, add and two multiplies; exp2 and reciprocal.
Decomposition decompose_silu_and_mul(const SiluAndMul& kernel, const GpuSpec&) {
  const auto dim = static_cast<double>(kernel.dim);
  const double size = activation_bytes(kernel.dtype);
  const Task task = {.fma_ops = 4 * dim, .xu_ops = 2 * dim, .bytes_loaded = 2 * dim * size};
  const auto vectors = kernel.dim / static_cast<std::int64_t>(vector_bytes / size);
  const auto threads = static_cast<int>(std::clamp<std::int64_t>(vectors, 1, 1024));
  return one_launch(uniform_launch("silu_and_mul", task, kernel.tokens, threads, registers));
}

// A pair of values turns with two multiplies and two multiply-adds; a row of cosines and sines.
Decomposition decompose_rope(const Rope& kernel, const GpuSpec&) {
  const double values = static_cast<double>(kernel.heads) * kernel.head_dim;
  const double size = activation_bytes(kernel.dtype);
  const Task task = {.fma_ops = 2 * values,
                     .bytes_loaded = values * size + kernel.head_dim * size + index_bytes};
  return one_launch(
      uniform_launch("rope", task, kernel.tokens, row_threads(values, 8, 512), registers));
}

Decomposition decompose_kv_write(const KvWrite& kernel, const GpuSpec&) {
  const double values = 2.0 * kernel.kv_heads * kernel.head_dim;
  const double size = activation_bytes(kernel.dtype);
  const bool is_scaled = bytes_per_element(kernel.kv_dtype) < size;
  const Task task = {.fma_ops = is_scaled ? values : 0,
                     .bytes_loaded = values * size + index_bytes};
  return one_launch(
      uniform_launch("kv_write", task, kernel.tokens, row_threads(values, 8, 512), registers));
}

Decomposition decompose_embedding(const Embedding& kernel, const GpuSpec&) {
  const double row = static_cast<double>(kernel.dim) * activation_bytes(kernel.dtype);
  const Task task = {.bytes_loaded = row + index_bytes};
  return one_launch(
      uniform_launch("embedding", task, kernel.tokens, row_threads(row, 1, 1024), registers));
}

}  // namespace foretoken

// The small kernels of a layer behind a C interface, for step_executor.py: the same code that
// foretoken-measure times one by one. Every function launches on `stream`, returns cudaError_t, and
// takes bf16 rows of 16-byte multiples; `row_width` is the distance of two rows in elements.
#include <algorithm>

#include "elementwise_kernels.cuh"
#include "norm_kernels.cuh"
#include "sampling_kernels.cuh"

using namespace foretoken::measure;

namespace {

Packed* packed(void* data) { return static_cast<Packed*>(data); }
const Packed* packed(const void* data) { return static_cast<const Packed*>(data); }

int sm_count() {
  static const int count = [] {
    int device = 0, value = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device);
    return value;
  }();
  return count;
}

}  // namespace

extern "C" {

int step_rms_norm(void* out, const void* in, const void* weight, int tokens, int dim,
                  cudaStream_t stream) {
  const int packs = dim / Packed::size;
  rms_norm_kernel<<<tokens, block_size(packs), 0, stream>>>(packed(out), packed(in), packed(weight),
                                                            packs);
  return cudaGetLastError();
}

int step_fused_add_rms_norm(void* x, void* residual, const void* weight, int tokens, int dim,
                            cudaStream_t stream) {
  static const cudaError_t allowed = cudaFuncSetAttribute(
      fused_add_rms_norm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
  if (allowed != cudaSuccess) return allowed;
  const int packs = dim / Packed::size;
  fused_add_rms_norm_kernel<<<tokens, block_size(packs), dim * sizeof(float), stream>>>(
      packed(x), packed(residual), packed(weight), packs);
  return cudaGetLastError();
}

int step_qk_norm(void* rows, const void* weights, int tokens, int query_heads, int kv_heads,
                 int head_dim, int row_width, cudaStream_t stream) {
  const int heads = query_heads + kv_heads;
  const long count = static_cast<long>(tokens) * heads;
  const long blocks = std::min((count + qk_norm_warps - 1) / qk_norm_warps, 8L * sm_count());
  qk_norm_kernel<<<static_cast<int>(blocks), 32 * qk_norm_warps, 0, stream>>>(
      packed(rows), packed(weights), head_dim / Packed::size, heads, query_heads,
      row_width / Packed::size, count);
  return cudaGetLastError();
}

int step_rope(void* rows, const void* table, const int* positions, int tokens, int heads,
              int head_dim, int row_width, cudaStream_t stream) {
  const int half = head_dim / 2 / Packed::size;
  rope_kernel<<<tokens, block_size(static_cast<long>(heads) * half, 512), 0, stream>>>(
      packed(rows), packed(table), positions, heads, half, row_width / Packed::size);
  return cudaGetLastError();
}

int step_kv_write(void* keys, void* values, const void* rows, const int* slots, int tokens,
                  int width, int row_width, cudaStream_t stream) {
  const int packs = width / Packed::size;
  kv_write_kernel<<<tokens, block_size(packs, 512), 0, stream>>>(
      packed(keys), packed(values), packed(rows), slots, packs, row_width / Packed::size);
  return cudaGetLastError();
}

int step_silu_and_mul(void* out, const void* in, int tokens, int dim, cudaStream_t stream) {
  const int packs = dim / Packed::size;
  silu_and_mul_kernel<<<tokens, block_size(packs), 0, stream>>>(packed(out), packed(in), packs);
  return cudaGetLastError();
}

int step_embedding(void* out, const void* table, const int* ids, int tokens, int dim,
                   cudaStream_t stream) {
  const int packs = dim / Packed::size;
  embedding_kernel<<<tokens, block_size(packs, 512), 0, stream>>>(packed(out), packed(table), ids,
                                                                  packs);
  return cudaGetLastError();
}

/// Float logits; `probabilities` is as large, `drawn` gets the chosen probability of each row.
int step_sample(void* probabilities, void* drawn, const void* logits, int rows, int vocabulary,
                cudaStream_t stream) {
  softmax_kernel<<<rows, sampling_threads, 0, stream>>>(
      static_cast<float4*>(probabilities), static_cast<const float4*>(logits), vocabulary / 4);
  sample_kernel<<<rows, sampling_threads, 0, stream>>>(
      static_cast<float*>(drawn), static_cast<const float4*>(probabilities), vocabulary / 4);
  return cudaGetLastError();
}

}  // extern "C"

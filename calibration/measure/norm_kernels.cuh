// RMSNorm as serving frameworks write it: one block a row, 16-byte accesses. The plain norm reads
// its row twice; the fused one adds the residual, keeps the row in shared memory and reads once;
// the norm of query and key heads gives one warp to each head.
#pragma once

#include <cstddef>

#include "packed.cuh"

namespace foretoken::measure {

constexpr float epsilon = 1e-6f;
constexpr int qk_norm_warps = 8;  // a block

static __global__ void rms_norm_kernel(Packed* out, const Packed* in, const Packed* weight,
                                       int packs) {
  __shared__ float scratch[32];
  const Packed* row = in + std::size_t{blockIdx.x} * packs;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Packed x = row[i];
    for (int j = 0; j < Packed::size; ++j) sum += x.get(j) * x.get(j);
  }
  const float scale = rsqrtf(block_sum(sum, scratch) / (packs * Packed::size) + epsilon);
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    Packed x = row[i];
    const Packed w = weight[i];
    for (int j = 0; j < Packed::size; ++j) x.set(j, x.get(j) * scale * w.get(j));
    out[std::size_t{blockIdx.x} * packs + i] = x;
  }
}

static __global__ void fused_add_rms_norm_kernel(Packed* in, Packed* residual, const Packed* weight,
                                                 int packs) {
  extern __shared__ float kept[];
  __shared__ float scratch[32];
  Packed* row = in + std::size_t{blockIdx.x} * packs;
  Packed* sums = residual + std::size_t{blockIdx.x} * packs;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const Packed x = row[i];
    Packed r = sums[i];
    for (int j = 0; j < Packed::size; ++j) {
      const float value = x.get(j) + r.get(j);
      sum += value * value;
      kept[j * packs + i] = value;
      r.set(j, value);
    }
    sums[i] = r;
  }
  const float scale = rsqrtf(block_sum(sum, scratch) / (packs * Packed::size) + epsilon);
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    Packed x;
    const Packed w = weight[i];
    for (int j = 0; j < Packed::size; ++j) x.set(j, kept[j * packs + i] * scale * w.get(j));
    row[i] = x;
  }
}

/// In place; one warp a head, warps stride over (token, head). Rows of `row_packs` begin with
/// `head_count` heads, of which the first `query_heads` take the first weight, the rest the second.
static __global__ void qk_norm_kernel(Packed* rows, const Packed* weights, int packs,
                                      int head_count, int query_heads, int row_packs, long count) {
  const long warps = long{gridDim.x} * blockDim.x / 32;
  const int lane = threadIdx.x % 32;
  for (long head = (long{blockIdx.x} * blockDim.x + threadIdx.x) / 32; head < count;
       head += warps) {
    const int in_row = static_cast<int>(head % head_count);
    Packed* at = rows + head / head_count * row_packs + std::size_t(in_row) * packs + lane;
    Packed x = {};
    float sum = 0.0f;
    if (lane < packs) {
      x = *at;
      for (int j = 0; j < Packed::size; ++j) sum += x.get(j) * x.get(j);
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    const float scale = rsqrtf(sum / (packs * Packed::size) + epsilon);
    if (lane >= packs) continue;
    const Packed w = weights[(in_row < query_heads ? 0 : packs) + lane];
    for (int j = 0; j < Packed::size; ++j) x.set(j, x.get(j) * scale * w.get(j));
    *at = x;
  }
}

}  // namespace foretoken::measure

// Sixteen bytes of bf16 at a time: the access width of every memory-bound kernel here.
#pragma once

#include <cuda_bf16.h>

namespace foretoken::measure {

struct alignas(16) Packed {
  static constexpr int size = 8;
  __nv_bfloat162 pairs[4];

  __device__ float get(int i) const {
    return __bfloat162float(i % 2 == 0 ? pairs[i / 2].x : pairs[i / 2].y);
  }
  __device__ void set(int i, float value) {
    (i % 2 == 0 ? pairs[i / 2].x : pairs[i / 2].y) = __float2bfloat16(value);
  }
};

/// The sum over the block; every thread gets it. `scratch` holds 32 floats.
inline __device__ float block_sum(float value, float* scratch) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  const int warps = (static_cast<int>(blockDim.x) + 31) / 32;
  float sum = static_cast<int>(threadIdx.x) % 32 < warps ? scratch[threadIdx.x % 32] : 0.0f;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  __syncthreads();
  return sum;
}

/// Threads for `items` independent pieces of work: whole warps, at most `max`.
inline int block_size(long items, int max = 1024) {
  const long threads = (items + 31) / 32 * 32;
  return static_cast<int>(threads < max ? threads : max);
}

}  // namespace foretoken::measure

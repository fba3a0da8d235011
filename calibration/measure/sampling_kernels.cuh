// The next token: softmax over the vocabulary, then a draw restricted to the top k and top p by
// rejection, which needs no sort. Takes float logits, as frameworks cast them.
#pragma once

#include <cmath>
#include <cstddef>

#include "packed.cuh"

namespace foretoken::measure {

constexpr int sampling_threads = 1024;
constexpr float temperature_inverse = 4.0f;  // normal logits become about as peaked as a model's
constexpr int top_k = 50;
constexpr float top_p = 0.9f;
constexpr int rounds_max = 16;

static __device__ float block_max(float value, float* scratch) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = scratch[threadIdx.x % 32];
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  __syncthreads();
  return value;
}

static __device__ float part(const float4& v, int j) {
  return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
}

/// Probabilities of a row: one pass for the running maximum and sum, one to write.
static __global__ void softmax_kernel(float4* out, const float4* in, int packs) {
  __shared__ float scratch[32];
  const float4* row = in + std::size_t{blockIdx.x} * packs;
  float largest = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const float4 x = row[i];
    const float seen = temperature_inverse * fmaxf(fmaxf(x.x, x.y), fmaxf(x.z, x.w));
    const float now = fmaxf(largest, seen);
    sum *= __expf(largest - now);
    for (int j = 0; j < 4; ++j) sum += __expf(temperature_inverse * part(x, j) - now);
    largest = now;
  }
  const float row_max = block_max(largest, scratch);
  const float total = block_sum(sum * __expf(largest - row_max), scratch);
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    const float4 x = row[i];
    float4 p;
    p.x = __expf(temperature_inverse * x.x - row_max) / total;
    p.y = __expf(temperature_inverse * x.y - row_max) / total;
    p.z = __expf(temperature_inverse * x.z - row_max) / total;
    p.w = __expf(temperature_inverse * x.w - row_max) / total;
    out[std::size_t{blockIdx.x} * packs + i] = p;
  }
}

/// The candidate at which the running mass of probabilities above `pivot` passes `target`.
static __device__ float draw_above(const float4* row, int packs, float pivot, float target,
                                   float* scratch, float* found) {
  if (threadIdx.x == 0) *found = -1.0f;
  __syncthreads();
  float before = 0.0f;
  for (int base = 0; base < packs && *found < 0.0f; base += blockDim.x) {
    const int i = base + static_cast<int>(threadIdx.x);
    float4 p = i < packs ? row[i] : float4{};
    float mine = 0.0f;
    for (int j = 0; j < 4; ++j) mine += part(p, j) > pivot ? part(p, j) : 0.0f;
    float running = mine;  // inclusive scan over the block: warps, then warp totals
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int offset = 1; offset < 32; offset *= 2) {
      const float other = __shfl_up_sync(~0u, running, offset);
      if (lane >= offset) running += other;
    }
    if (lane == 31) scratch[warp] = running;
    __syncthreads();
    float total = 0.0f;
    for (int w = 0; w < sampling_threads / 32; ++w) {
      if (w == warp) running += before + total;
      total += scratch[w];
    }
    if (running >= target && running - mine < target && mine > 0.0f) {
      float at = running - mine;
      for (int j = 0; j < 4; ++j) {
        if (part(p, j) <= pivot) continue;
        at += part(p, j);
        *found = part(p, j);
        if (at >= target) break;
      }
    }
    before += total;
    __syncthreads();
  }
  const float result = *found;
  __syncthreads();
  return result;
}

/// Draws one token a row; a candidate outside the top k or top p raises the pivot and draws again.
static __global__ void sample_kernel(float* out, const float4* probabilities, int packs) {
  __shared__ float scratch[32];
  __shared__ float found;
  const float4* row = probabilities + std::size_t{blockIdx.x} * packs;
  float pivot = 0.0f, mass_above_pivot = 1.0f, chosen = 0.0f;
  unsigned random = blockIdx.x * 2654435761u + 12345u;
  for (int round = 0; round < rounds_max; ++round) {
    random = random * 1664525u + 1013904223u;
    const float target = (random >> 8) * 0x1p-24f * mass_above_pivot;
    chosen = draw_above(row, packs, pivot, target, scratch, &found);
    float mass = 0.0f, count = 0.0f;
    for (int i = threadIdx.x; i < packs; i += blockDim.x) {
      const float4 p = row[i];
      for (int j = 0; j < 4; ++j) {
        const bool above = part(p, j) > chosen;
        mass += above ? part(p, j) : 0.0f;
        count += above ? 1.0f : 0.0f;
      }
    }
    mass = block_sum(mass, scratch);
    count = block_sum(count, scratch);
    if (count < top_k && mass < top_p) break;
    pivot = chosen;
    mass_above_pivot = mass;
  }
  if (threadIdx.x == 0) out[blockIdx.x] = chosen;
}

}  // namespace foretoken::measure

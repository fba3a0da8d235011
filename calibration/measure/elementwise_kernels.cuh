// The element-wise kernels of a layer: SiLU&Mul, rotary embedding of the query and key heads, the
// write of new keys and values into the cache, and the lookup of token embeddings. One block a
// token, 16-byte accesses.
#pragma once

#include <cuda_fp8.h>

#include <cstddef>

#include "packed.cuh"

namespace foretoken::measure {

/// Rows of [gate, up]; out = silu(gate) * up.
static __global__ void silu_and_mul_kernel(Packed* out, const Packed* in, int packs) {
  const Packed* row = in + std::size_t{blockIdx.x} * 2 * packs;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    Packed gate = row[i];
    const Packed up = row[packs + i];
    for (int j = 0; j < Packed::size; ++j) {
      const float x = gate.get(j);
      gate.set(j, x / (1.0f + __expf(-x)) * up.get(j));
    }
    out[std::size_t{blockIdx.x} * packs + i] = gate;
  }
}

/// In place; a head's first half pairs with its second ("neox" order). Rows of `row_packs` begin
/// with `head_count` heads. The table holds, for each position, head_dim / 2 cosines and then as
/// many sines.
static __global__ void rope_kernel(Packed* rows, const Packed* table, const int* positions,
                                   int head_count, int half_packs, int row_packs) {
  Packed* row = rows + std::size_t{blockIdx.x} * row_packs;
  const Packed* angles = table + std::size_t(positions[blockIdx.x]) * 2 * half_packs;
  for (int i = threadIdx.x; i < head_count * half_packs; i += blockDim.x) {
    const int lane = i % half_packs;
    Packed* first = row + i / half_packs * 2 * half_packs + lane;
    Packed x = first[0], y = first[half_packs];
    const Packed cosine = angles[lane], sine = angles[half_packs + lane];
    for (int j = 0; j < Packed::size; ++j) {
      const float a = x.get(j), b = y.get(j);
      x.set(j, a * cosine.get(j) - b * sine.get(j));
      y.set(j, b * cosine.get(j) + a * sine.get(j));
    }
    first[0] = x;
    first[half_packs] = y;
  }
}

struct alignas(8) PackedFp8 {
  __nv_fp8_e4m3 values[Packed::size];
};

static __device__ void store(Packed* cache, std::size_t at, const Packed& value) {
  cache[at] = value;
}
static __device__ void store(PackedFp8* cache, std::size_t at, const Packed& value) {
  PackedFp8 converted;
  for (int j = 0; j < Packed::size; ++j) converted.values[j] = __nv_fp8_e4m3(value.get(j));
  cache[at] = converted;
}

/// Rows of `row_packs`, of which the first are [key, value], go to the slot of each token in two
/// caches.
template <typename Cached>
__global__ void kv_write_kernel(Cached* keys, Cached* values, const Packed* in, const int* slots,
                                int packs, int row_packs) {
  const std::size_t slot = static_cast<std::size_t>(slots[blockIdx.x]) * packs;
  const Packed* row = in + std::size_t{blockIdx.x} * row_packs;
  for (int i = threadIdx.x; i < packs; i += blockDim.x) {
    store(keys, slot + i, row[i]);
    store(values, slot + i, row[packs + i]);
  }
}

static __global__ void embedding_kernel(Packed* out, const Packed* table, const int* ids,
                                        int packs) {
  const Packed* row = table + std::size_t(ids[blockIdx.x]) * packs;
  for (int i = threadIdx.x; i < packs; i += blockDim.x)
    out[std::size_t{blockIdx.x} * packs + i] = row[i];
}

}  // namespace foretoken::measure

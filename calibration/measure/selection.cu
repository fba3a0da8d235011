// Kernels that choose: the next token (softmax over the vocabulary, then a draw restricted to the
// top k and top p by rejection, which needs no sort) and the experts of a token (top k of the
// router's scores, softmax over the winners). Sampling takes float logits, as frameworks cast them.
#include <cmath>

#include "family.hpp"
#include "packed.cuh"

namespace foretoken::measure {
namespace {

constexpr int sampling_threads = 1024;
constexpr float temperature_inverse = 4.0f;  // normal logits become about as peaked as a model's
constexpr int top_k = 50;
constexpr float top_p = 0.9f;
constexpr int rounds_max = 16;

__device__ float block_max(float value, float* scratch) {
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

__device__ float part(const float4& v, int j) {
  return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w;
}

/// Probabilities of a row: one pass for the running maximum and sum, one to write.
__global__ void softmax_kernel(float4* out, const float4* in, int packs) {
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
__device__ float draw_above(const float4* row, int packs, float pivot, float target, float* scratch,
                            float* found) {
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
__global__ void sample_kernel(float* out, const float4* probabilities, int packs) {
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

/// One warp a token; each lane holds every 32nd score and the warp takes the maximum k times.
template <int PerLane>
__global__ void topk_routing_kernel(float* weights, int* ids, const __nv_bfloat16* scores,
                                    int tokens, int experts, int topk) {
  const int token = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (token >= tokens) return;
  float mine[PerLane];
  for (int i = 0; i < PerLane; ++i) {
    const int expert = i * 32 + lane;
    mine[i] = expert < experts
                  ? __bfloat162float(scores[static_cast<std::size_t>(token) * experts + expert])
                  : -INFINITY;
  }
  float sum = 0.0f, first = 0.0f, kept = 0.0f;
  for (int k = 0; k < topk; ++k) {
    float best = -INFINITY;
    int at = 0;
    for (int i = 0; i < PerLane; ++i)
      if (mine[i] > best) {
        best = mine[i];
        at = i * 32 + lane;
      }
    for (int offset = 16; offset > 0; offset /= 2) {
      const float other = __shfl_xor_sync(~0u, best, offset);
      const int other_at = __shfl_xor_sync(~0u, at, offset);
      if (other > best || (other == best && other_at < at)) {
        best = other;
        at = other_at;
      }
    }
    if (k == 0) first = best;
    const float weight = __expf(best - first);
    sum += weight;
    if (lane == k) {
      kept = weight;
      ids[static_cast<std::size_t>(token) * topk + k] = at;
    }
    for (int i = 0; i < PerLane; ++i)
      if (at == i * 32 + lane) mine[i] = -INFINITY;
  }
  if (lane < topk) weights[static_cast<std::size_t>(token) * topk + lane] = kept / sum;
}

void launch_routing(const Buffers& b, cudaStream_t stream, int tokens, int experts, int topk) {
  constexpr int warps_per_block = 4;
  const int grid = (tokens + warps_per_block - 1) / warps_per_block;
  auto* weights = reinterpret_cast<float*>(b.output);
  auto* ids = reinterpret_cast<int*>(b.output + std::size_t{4} * tokens * topk);
  const auto* scores = reinterpret_cast<const __nv_bfloat16*>(b.input);
  const auto go = [&](auto kernel) {
    kernel<<<grid, 32 * warps_per_block, 0, stream>>>(weights, ids, scores, tokens, experts, topk);
  };
  if (experts <= 32)
    go(topk_routing_kernel<1>);
  else if (experts <= 64)
    go(topk_routing_kernel<2>);
  else if (experts <= 128)
    go(topk_routing_kernel<4>);
  else if (experts <= 256)
    go(topk_routing_kernel<8>);
  else
    go(topk_routing_kernel<16>);
  check(cudaGetLastError(), "topk_routing");
}

}  // namespace

Family sampling(const Gpu&, const FamilyOptions&) {
  Family family;
  family.name = "sampling";
  family.columns = {"kernel", "kernel_source", "rows", "vocabulary"};
  family.provenance = {{"top_k", std::to_string(top_k)}, {"top_p", "0.9"}};
  for (const int rows : token_counts(1024))
    for (const int vocabulary : {32000, 65024, 100352, 128256, 151936, 201088, 256000}) {
      Case one;
      one.fields = {"sampling", "foretoken_cuda", std::to_string(rows), std::to_string(vocabulary)};
      one.coordinates = {std::log2(rows), std::log2(vocabulary)};
      const std::size_t bytes = std::size_t{4} * rows * vocabulary;
      one.footprint = {.input_bytes = bytes, .output_bytes = bytes + 4 * std::size_t{1024}};
      one.launch = [rows, bytes, packs = vocabulary / 4](const Buffers& b, cudaStream_t stream) {
        softmax_kernel<<<rows, sampling_threads, 0, stream>>>(
            reinterpret_cast<float4*>(b.output), reinterpret_cast<const float4*>(b.input), packs);
        sample_kernel<<<rows, sampling_threads, 0, stream>>>(
            reinterpret_cast<float*>(b.output + bytes), reinterpret_cast<const float4*>(b.output),
            packs);
        check(cudaGetLastError(), "sampling");
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

Family topk_routing(const Gpu&, const FamilyOptions&) {
  Family family;
  family.name = "topk_routing";
  family.columns = {"kernel", "kernel_source", "tokens", "experts", "topk"};
  for (const int tokens : token_counts(16384))
    for (const auto& [experts, topk] : std::initializer_list<std::pair<int, int>>{{8, 2},
                                                                                  {16, 2},
                                                                                  {16, 4},
                                                                                  {32, 4},
                                                                                  {60, 4},
                                                                                  {64, 6},
                                                                                  {64, 8},
                                                                                  {128, 4},
                                                                                  {128, 8},
                                                                                  {160, 6},
                                                                                  {256, 8},
                                                                                  {384, 8},
                                                                                  {512, 10}}) {
      Case one;
      one.fields = {"topk_routing", "foretoken_cuda", std::to_string(tokens),
                    std::to_string(experts), std::to_string(topk)};
      one.coordinates = {std::log2(tokens), std::log2(experts), std::log2(topk)};
      one.footprint = {.input_bytes = std::size_t{2} * tokens * experts,
                       .output_bytes = std::size_t{8} * tokens * topk};
      one.launch = [tokens, experts, topk](const Buffers& b, cudaStream_t stream) {
        launch_routing(b, stream, tokens, experts, topk);
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

}  // namespace foretoken::measure

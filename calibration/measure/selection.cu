// Kernels that choose: the next token (sampling_kernels.cuh) and the experts of a token (top k of
// the router's scores, softmax over the winners).
#include <cmath>

#include "family.hpp"
#include "sampling_kernels.cuh"

namespace foretoken::measure {
namespace {

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
      one.launch = [tokens, experts = experts, topk = topk](const Buffers& b, cudaStream_t stream) {
        launch_routing(b, stream, tokens, experts, topk);
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

}  // namespace foretoken::measure

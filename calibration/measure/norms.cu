// RMSNorm as serving frameworks write it: one block a row, 16-byte accesses. The plain norm reads
// its row twice; the fused one adds the residual, keeps the row in shared memory and reads once;
// the norm of query and key heads gives one warp to each head.
#include <cmath>

#include "family.hpp"
#include "packed.cuh"

namespace foretoken::measure {
namespace {

constexpr float epsilon = 1e-6f;

__global__ void rms_norm_kernel(Packed* out, const Packed* in, const Packed* weight, int packs) {
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

__global__ void fused_add_rms_norm_kernel(Packed* in, Packed* residual, const Packed* weight,
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

/// In place; one warp a head, warps stride over (token, head).
__global__ void qk_norm_kernel(Packed* heads, const Packed* weight, int packs, long count) {
  const long warps = long{gridDim.x} * blockDim.x / 32;
  const int lane = threadIdx.x % 32;
  for (long head = (long{blockIdx.x} * blockDim.x + threadIdx.x) / 32; head < count;
       head += warps) {
    Packed x = {};
    float sum = 0.0f;
    if (lane < packs) {
      x = heads[head * packs + lane];
      for (int j = 0; j < Packed::size; ++j) sum += x.get(j) * x.get(j);
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    const float scale = rsqrtf(sum / (packs * Packed::size) + epsilon);
    if (lane >= packs) continue;
    const Packed w = weight[lane];
    for (int j = 0; j < Packed::size; ++j) x.set(j, x.get(j) * scale * w.get(j));
    heads[head * packs + lane] = x;
  }
}

constexpr int hidden_sizes[] = {512,  896,  1024, 1536, 2048, 2304, 2560, 2880, 3072,
                                3584, 4096, 4544, 4608, 5120, 6144, 7168, 8192, 16384};

Family norm_family(const char* name) {
  Family family;
  family.name = name;
  family.columns = {"kernel", "kernel_source", "tokens", "dim", "dtype"};
  return family;
}

Case norm_case(const char* name, int tokens, int dim) {
  Case one;
  one.fields = {name, "foretoken_cuda", std::to_string(tokens), std::to_string(dim), "bf16"};
  one.coordinates = {std::log2(tokens), std::log2(dim)};
  return one;
}

}  // namespace

Family rms_norm(const Gpu&, const FamilyOptions&) {
  Family family = norm_family("rms_norm");
  for (const int tokens : token_counts(16384))
    for (const int dim : hidden_sizes) {
      Case one = norm_case("rms_norm", tokens, dim);
      const std::size_t bytes = std::size_t{2} * tokens * dim;
      one.footprint = {
          .shared_bytes = std::size_t{2} * dim, .input_bytes = bytes, .output_bytes = bytes};
      one.launch = [tokens, packs = dim / Packed::size](const Buffers& b, cudaStream_t stream) {
        rms_norm_kernel<<<tokens, block_size(packs), 0, stream>>>(
            reinterpret_cast<Packed*>(b.output), reinterpret_cast<const Packed*>(b.input),
            reinterpret_cast<const Packed*>(b.shared), packs);
        check(cudaGetLastError(), "rms_norm");
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

Family fused_add_rms_norm(const Gpu&, const FamilyOptions&) {
  check(cudaFuncSetAttribute(fused_add_rms_norm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             64 * 1024),
        "fused_add_rms_norm");
  Family family = norm_family("fused_add_rms_norm");
  for (const int tokens : token_counts(16384))
    for (const int dim : hidden_sizes) {
      Case one = norm_case("fused_add_rms_norm", tokens, dim);
      const std::size_t bytes = std::size_t{2} * tokens * dim;
      one.footprint = {.shared_bytes = std::size_t{2} * dim, .input_bytes = 2 * bytes};
      one.launch = [tokens, bytes, packs = dim / Packed::size](const Buffers& b,
                                                               cudaStream_t stream) {
        const std::size_t shared = packs * Packed::size * sizeof(float);
        fused_add_rms_norm_kernel<<<tokens, block_size(packs), shared, stream>>>(
            reinterpret_cast<Packed*>(b.input), reinterpret_cast<Packed*>(b.input + bytes),
            reinterpret_cast<const Packed*>(b.shared), packs);
        check(cudaGetLastError(), "fused_add_rms_norm");
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

Family qk_norm(const Gpu& gpu, const FamilyOptions&) {
  constexpr int warps_per_block = 8;
  Family family;
  family.name = "qk_norm";
  family.columns = {"kernel", "kernel_source", "tokens", "heads", "head_dim", "dtype"};
  for (const int tokens : token_counts(16384))
    for (const auto& [heads, head_dim] : std::initializer_list<std::pair<int, int>>{{5, 128},
                                                                                    {9, 128},
                                                                                    {10, 128},
                                                                                    {18, 128},
                                                                                    {20, 128},
                                                                                    {24, 128},
                                                                                    {36, 128},
                                                                                    {40, 128},
                                                                                    {48, 128},
                                                                                    {72, 128},
                                                                                    {12, 256},
                                                                                    {40, 64}}) {
      Case one;
      one.fields = {"qk_norm",
                    "foretoken_cuda",
                    std::to_string(tokens),
                    std::to_string(heads),
                    std::to_string(head_dim),
                    "bf16"};
      one.coordinates = {std::log2(tokens), std::log2(heads), std::log2(head_dim)};
      const long count = long{tokens} * heads;
      one.footprint = {.shared_bytes = std::size_t{2} * head_dim,
                       .input_bytes = std::size_t{2} * count * head_dim};
      const long blocks = (count + warps_per_block - 1) / warps_per_block;
      const int grid = static_cast<int>(std::min(blocks, 8L * gpu.sm_count));
      one.launch = [grid, count, packs = head_dim / Packed::size](const Buffers& b,
                                                                  cudaStream_t stream) {
        qk_norm_kernel<<<grid, 32 * warps_per_block, 0, stream>>>(
            reinterpret_cast<Packed*>(b.input), reinterpret_cast<const Packed*>(b.shared), packs,
            count);
        check(cudaGetLastError(), "qk_norm");
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

}  // namespace foretoken::measure

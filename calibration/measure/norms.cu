// The shapes that the norms of norm_kernels.cuh are timed on.
#include <cmath>

#include "family.hpp"
#include "norm_kernels.cuh"

namespace foretoken::measure {
namespace {

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
      one.footprint = {.shared_bytes = std::size_t{4} * head_dim,
                       .input_bytes = std::size_t{2} * count * head_dim};
      const long blocks = (count + qk_norm_warps - 1) / qk_norm_warps;
      const int grid = static_cast<int>(std::min(blocks, 8L * gpu.sm_count));
      one.launch = [grid, count, heads = heads, packs = head_dim / Packed::size](
                       const Buffers& b, cudaStream_t stream) {
        qk_norm_kernel<<<grid, 32 * qk_norm_warps, 0, stream>>>(
            reinterpret_cast<Packed*>(b.input), reinterpret_cast<const Packed*>(b.shared), packs,
            heads, heads, heads * packs, count);
        check(cudaGetLastError(), "qk_norm");
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

}  // namespace foretoken::measure

// The shapes that the kernels of elementwise_kernels.cuh are timed on.
#include <cmath>

#include "elementwise_kernels.cuh"
#include "family.hpp"

namespace foretoken::measure {
namespace {

Family token_family(const char* name, std::vector<std::string> shape_columns) {
  Family family;
  family.name = name;
  family.columns = {"kernel", "kernel_source", "tokens"};
  family.columns.insert(family.columns.end(), shape_columns.begin(), shape_columns.end());
  return family;
}

Case token_case(const char* name, int tokens, std::initializer_list<int> sizes,
                std::initializer_list<const char*> dtypes) {
  Case one;
  one.fields = {name, "foretoken_cuda", std::to_string(tokens)};
  one.coordinates = {std::log2(tokens)};
  for (const int size : sizes) {
    one.fields.push_back(std::to_string(size));
    one.coordinates.push_back(std::log2(size));
  }
  for (const char* dtype : dtypes) one.fields.emplace_back(dtype);
  return one;
}

}  // namespace

Family silu_and_mul(const Gpu&, const FamilyOptions&) {
  Family family = token_family("silu_and_mul", {"dim", "dtype"});
  for (const int tokens : token_counts(16384))
    for (const int dim : {384,   512,   768,   1216,  1536,  1792,  2048,  2432, 2880, 3456,
                          3584,  4096,  4736,  4864,  6144,  6912,  7168,  8192, 8960, 9216,
                          11008, 12288, 13824, 14336, 17920, 18944, 25600, 28672}) {
      if (static_cast<long>(tokens) * dim > 300'000'000) continue;
      Case one = token_case("silu_and_mul", tokens, {dim}, {"bf16"});
      const std::size_t bytes = std::size_t{2} * tokens * dim;
      one.footprint = {.input_bytes = 2 * bytes, .output_bytes = bytes};
      one.launch = [tokens, packs = dim / Packed::size](const Buffers& b, cudaStream_t stream) {
        silu_and_mul_kernel<<<tokens, block_size(packs), 0, stream>>>(
            reinterpret_cast<Packed*>(b.output), reinterpret_cast<const Packed*>(b.input), packs);
        check(cudaGetLastError(), "silu_and_mul");
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

Family rope(const Gpu&, const FamilyOptions&) {
  constexpr int positions = 131072;
  Family family = token_family("rope", {"heads", "head_dim", "dtype"});
  for (const int tokens : token_counts(16384))
    for (const auto& [heads, head_dim] : std::initializer_list<std::pair<int, int>>{{2, 128},
                                                                                    {5, 128},
                                                                                    {9, 128},
                                                                                    {10, 128},
                                                                                    {18, 128},
                                                                                    {20, 128},
                                                                                    {36, 128},
                                                                                    {40, 128},
                                                                                    {48, 128},
                                                                                    {72, 128},
                                                                                    {80, 128},
                                                                                    {136, 128},
                                                                                    {12, 256},
                                                                                    {24, 256},
                                                                                    {40, 64},
                                                                                    {72, 64}}) {
      Case one = token_case("rope", tokens, {heads, head_dim}, {"bf16"});
      one.footprint = {.shared_bytes = std::size_t{2} * positions * head_dim,
                       .input_bytes = std::size_t{2} * tokens * heads * head_dim,
                       .index_count = static_cast<std::size_t>(tokens),
                       .index_bound = positions};
      one.launch = [tokens, heads = heads, half = head_dim / 2 / Packed::size](
                       const Buffers& b, cudaStream_t stream) {
        rope_kernel<<<tokens, block_size(long{heads} * half, 512), 0, stream>>>(
            reinterpret_cast<Packed*>(b.input), reinterpret_cast<const Packed*>(b.shared),
            b.indices, heads, half, heads * 2 * half);
        check(cudaGetLastError(), "rope");
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

Family kv_write(const Gpu&, const FamilyOptions&) {
  constexpr int slots = 262144;  // tokens in the cache, far more than one batch writes
  Family family = token_family("kv_write", {"kv_heads", "head_dim", "dtype", "kv_dtype"});
  for (const int tokens : token_counts(16384))
    for (const auto& [kv_heads, head_dim] : std::initializer_list<std::pair<int, int>>{{1, 128},
                                                                                       {2, 128},
                                                                                       {4, 128},
                                                                                       {8, 128},
                                                                                       {10, 128},
                                                                                       {16, 128},
                                                                                       {32, 128},
                                                                                       {40, 128},
                                                                                       {4, 256},
                                                                                       {8, 256},
                                                                                       {8, 64}})
      for (const bool fp8 : {false, true}) {
        Case one =
            token_case("kv_write", tokens, {kv_heads, head_dim}, {"bf16", fp8 ? "fp8" : "bf16"});
        const std::size_t width = static_cast<std::size_t>(kv_heads) * head_dim;
        const std::size_t cache = slots * width * (fp8 ? 1 : 2);
        one.footprint = {.shared_bytes = 2 * cache,
                         .input_bytes = std::size_t{4} * tokens * width,
                         .index_count = static_cast<std::size_t>(tokens),
                         .index_bound = slots};
        one.launch = [tokens, cache, fp8, packs = static_cast<int>(width) / Packed::size](
                         const Buffers& b, cudaStream_t stream) {
          const auto* in = reinterpret_cast<const Packed*>(b.input);
          const int threads = block_size(packs, 512);
          if (fp8)
            kv_write_kernel<<<tokens, threads, 0, stream>>>(
                reinterpret_cast<PackedFp8*>(b.shared),
                reinterpret_cast<PackedFp8*>(b.shared + cache), in, b.indices, packs, 2 * packs);
          else
            kv_write_kernel<<<tokens, threads, 0, stream>>>(
                reinterpret_cast<Packed*>(b.shared), reinterpret_cast<Packed*>(b.shared + cache),
                in, b.indices, packs, 2 * packs);
          check(cudaGetLastError(), "kv_write");
        };
        family.cases.push_back(std::move(one));
      }
  return family;
}

Family embedding(const Gpu&, const FamilyOptions&) {
  constexpr int vocabulary = 128256;
  Family family = token_family("embedding", {"dim", "dtype"});
  for (const int tokens : token_counts(16384))
    for (const int dim : {896, 1536, 2048, 2880, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 16384}) {
      Case one = token_case("embedding", tokens, {dim}, {"bf16"});
      one.footprint = {.shared_bytes = std::size_t{2} * vocabulary * dim,
                       .output_bytes = std::size_t{2} * tokens * dim,
                       .index_count = static_cast<std::size_t>(tokens),
                       .index_bound = vocabulary};
      one.launch = [tokens, packs = dim / Packed::size](const Buffers& b, cudaStream_t stream) {
        embedding_kernel<<<tokens, block_size(packs, 512), 0, stream>>>(
            reinterpret_cast<Packed*>(b.output), reinterpret_cast<const Packed*>(b.shared),
            b.indices, packs);
        check(cudaGetLastError(), "embedding");
      };
      family.cases.push_back(std::move(one));
    }
  return family;
}

}  // namespace foretoken::measure

// Kernels drawn at random, of every kind and of all sizes, for properties that must hold of any.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "kernels/kernel.hpp"

namespace foretoken {

/// The numbers of mt19937 are the same everywhere; distributions are not, so modulo.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t count) { return random_() % count; }
  bool coin() { return below(2) == 1; }
  /// Any number of 1 to `max`, small ones as likely as large ones.
  std::int64_t size(std::int64_t max) {
    const double octaves = std::log2(static_cast<double>(max));
    return static_cast<std::int64_t>(
        std::exp2(octaves * static_cast<double>(below(10'001)) / 10'000));
  }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<std::int64_t>(values.size())));
  }

 private:
  std::mt19937 random_;
};

inline Implementation random_implementation(Draw& draw) {
  return {draw.one_of({Framework::vllm, Framework::sglang, Framework::pytorch}),
          KernelSource::automatic, draw.coin()};
}

inline AttentionLoad random_load(Draw& draw, bool is_decode) {
  std::vector<SequenceSlice> slices;
  const std::int64_t count = draw.size(is_decode ? 256 : 8);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t queries = is_decode ? 1 : 1 + draw.size(4096);
    slices.push_back({queries, queries + (draw.coin() ? draw.size(32'768) : 0)});
  }
  return AttentionLoad::exact(std::move(slices));
}

inline Kernel random_kernel(Draw& draw) {
  const DType format = draw.one_of({DType::bf16, DType::fp8, DType::fp8_block, DType::nvfp4});
  const DType cache = draw.one_of({DType::bf16, DType::fp8});
  const std::int64_t tokens = draw.size(32'768);
  const bool is_cold = draw.coin();
  switch (draw.below(10)) {
    case 0:
      return Attention{.query_heads = 32,
                       .kv_heads = draw.one_of({1, 8, 32}),
                       .head_dim = draw.one_of({64, 128}),
                       .kv_dtype = cache,
                       .load = random_load(draw, draw.coin()),
                       .implementation = random_implementation(draw)};
    case 1:
      return Mla{.query_heads = draw.one_of({16, 32, 128}),
                 .kv_dtype = cache,
                 .load = random_load(draw, draw.coin()),
                 .implementation = {Framework::vllm, KernelSource::automatic, draw.coin()}};
    case 2:
      return QkNorm{tokens, draw.one_of({4, 40, 80}), 128, DType::bf16, is_cold};
    case 3:
      return draw.coin() ? Kernel(RmsNorm{tokens, draw.size(16'384), DType::bf16, is_cold})
                         : Kernel(FusedAddRmsNorm{tokens, draw.size(16'384), DType::bf16, is_cold});
    case 4:
      return draw.coin() ? Kernel(SiluAndMul{tokens, draw.size(32'768), DType::bf16, is_cold})
                         : Kernel(Rope{tokens, 40, 128, DType::bf16, is_cold});
    case 5:
      return draw.coin() ? Kernel(KvWrite{tokens, 8, 128, DType::bf16, cache})
                         : Kernel(Embedding{tokens, draw.size(16'384)});
    case 6:
      return draw.coin() ? Kernel(Sampling{draw.size(512), draw.size(200'000)})
                         : Kernel(TopKRouting{tokens, 256, 8});
    case 7:
      return FusedMoe{.tokens = draw.size(8192),
                      .experts = 64,
                      .topk = 8,
                      .hidden = 128 * draw.size(56),
                      .intermediate = 128 * draw.size(32),
                      .dtype = draw.one_of({DType::bf16, DType::fp8}),
                      .implementation = random_implementation(draw)};
    default:
      return Gemm{tokens, 16 * draw.size(2048), 16 * draw.size(2048), format,
                  random_implementation(draw)};
  }
}

}  // namespace foretoken

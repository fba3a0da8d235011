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

inline void add_slices(Draw& draw, bool is_decode, std::vector<SequenceSlice>& slices) {
  const std::int64_t count = draw.size(is_decode ? 256 : 8);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t queries = is_decode ? 1 : 1 + draw.size(4096);
    slices.push_back({queries, queries + (draw.coin() ? draw.size(32'768) : 0)});
  }
}

/// Prompts or decodes alone.
inline AttentionLoad random_load(Draw& draw, bool is_decode) {
  std::vector<SequenceSlice> slices;
  add_slices(draw, is_decode, slices);
  return AttentionLoad::exact(std::move(slices));
}

/// Prompts, decodes or both, by the plan or by their sums.
inline AttentionLoad random_batch(Draw& draw) {
  std::vector<SequenceSlice> slices;
  const std::int64_t kinds = draw.below(5);
  if (kinds != 0) add_slices(draw, true, slices);
  if (kinds == 0 || kinds == 4) add_slices(draw, false, slices);
  AttentionLoad load = AttentionLoad::exact(std::move(slices));
  if (draw.coin()) load.sequences.clear();
  return load;
}

inline Implementation random_implementation_of_server(Draw& draw) {
  return {draw.one_of({Framework::vllm, Framework::sglang}), KernelSource::automatic, draw.coin()};
}

/// Of the layers beside plain attention.
inline Kernel random_hybrid_kernel(Draw& draw) {
  const Implementation implementation = random_implementation_of_server(draw);
  const AttentionLoad load = random_load(draw, draw.coin());
  switch (draw.below(6)) {
    case 0:
      return StateScan{
          .kind = draw.one_of({StateKind::delta_net, StateKind::kimi_delta, StateKind::mamba2}),
          .key_heads = draw.one_of({2, 8, 16}),
          .value_heads = draw.one_of({4, 32, 64}),
          .key_dim = 128,
          .value_dim = 128,
          .load = StateLoad::of(load),
          .implementation = implementation};
    case 1:
      return StateConvolution{.channels = 128 * draw.size(96),
                              .load = StateLoad::of(load),
                              .implementation = implementation};
    case 2:
      return KeyIndexer{.heads = draw.one_of({4, 32, 64}),
                        .head_dim = 128,
                        .selected = 2048,
                        .block = draw.one_of({1, 64}),
                        .ratio = draw.one_of({1, 4}),
                        .load = load,
                        .implementation = implementation};
    case 3: {
      const bool is_latent = draw.coin();
      return SparseAttention{.query_heads = draw.one_of({16, 64, 128}),
                             .kv_heads = is_latent ? 1 : 4,
                             .key_dim = is_latent ? 576 : 128,
                             .value_dim = is_latent ? 512 : 128,
                             .values_are_keys = is_latent,
                             .selected = draw.one_of({0, 512, 2048}),
                             .ratio = draw.one_of({1, 4, 128}),
                             .window = draw.one_of({0, 128}),
                             .load = load,
                             .implementation = implementation};
    }
    case 4:
      return HyperConnection{.tokens = draw.size(32'768),
                             .hidden = 512 * draw.size(14),
                             .part = draw.one_of({HyperPart::pre, HyperPart::post}),
                             .is_cold = draw.coin()};
    default:
      return BatchedGemm{draw.one_of({8, 32, 128}), draw.size(4096), 128, 512};
  }
}

inline FusedMoe random_experts(Draw& draw) {
  FusedMoe experts{.tokens = draw.size(16'384),
                   .experts = draw.one_of({8, 64, 128, 256}),
                   .topk = draw.one_of({1, 2, 8}),
                   .hidden = 128 * draw.size(56),
                   .intermediate = 1024 * draw.size(14),
                   .dtype = draw.one_of({DType::bf16, DType::fp8, DType::fp8_block, DType::nvfp4,
                                         DType::mxfp4, DType::w4a16}),
                   .tp = draw.one_of({1, 2, 8}),
                   .ep = draw.one_of({1, 1, 4, 8}),
                   .implementation = random_implementation_of_server(draw),
                   .ungated = draw.below(8) == 0};
  if (draw.coin()) {
    experts.routing = draw.one_of({Routing{Routing::Kind::power_law, 0.6, {}},
                                   Routing{Routing::Kind::power_law, 1.2, {}},
                                   Routing{Routing::Kind::popularity, 30, {}}});
  }
  if (draw.below(4) == 0) experts.implementation.framework = Framework::trtllm;
  return experts;
}

inline Kernel random_kernel(Draw& draw) {
  const DType format =
      draw.one_of({DType::bf16, DType::fp16, DType::fp8, DType::fp8_block, DType::int8,
                   DType::nvfp4, DType::mxfp4, DType::w4a16, DType::w8a16});
  const DType cache = draw.one_of({DType::bf16, DType::fp8});
  const std::int64_t tokens = draw.size(32'768);
  const bool is_cold = draw.coin();
  switch (draw.below(14)) {
    case 0:
      return Attention{.query_heads = 32,
                       .kv_heads = draw.one_of({1, 8, 32}),
                       .head_dim = draw.one_of({64, 128, 192, 256}),
                       .kv_dtype = cache,
                       .window = draw.one_of({0, 0, 1024}),
                       .page_tokens = draw.one_of({0, 16, 64}),
                       .load = random_batch(draw),
                       .implementation = random_implementation(draw)};
    case 1:
      return Mla{.query_heads = draw.one_of({16, 32, 128}),
                 .kv_dtype = cache,
                 .load = random_batch(draw),
                 .implementation = random_implementation_of_server(draw)};
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
      return draw.coin()
                 ? Kernel(Sampling{draw.size(512), draw.size(200'000),
                                   draw.one_of({SamplingMethod::top_p, SamplingMethod::greedy})})
                 : Kernel(TopKRouting{tokens, draw.one_of({8, 128, 256}), 8, is_cold});
    case 7:
    case 8:
      return random_experts(draw);
    case 9:
    case 10:
    case 11:
      return random_hybrid_kernel(draw);
    default:
      return Gemm{tokens, 16 * draw.size(2048), 16 * draw.size(2048), format,
                  random_implementation(draw)};
  }
}

}  // namespace foretoken

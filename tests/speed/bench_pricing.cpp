// What one kernel's price costs: computed anew, remembered, and for attention over a listed batch.
#include <benchmark/benchmark.h>

#include "kernels/memo_predictor.hpp"

namespace foretoken {
namespace {

std::unique_ptr<Predictor> roofline() {
  const Value options;
  Diagnostics diagnostics;
  TableReader table(options, diagnostics, "predictor");
  return predictor_catalog().find("roofline", {}).make(table);
}

Kernel gemm(std::int64_t tokens) { return Gemm{tokens, 6144, 4096, DType::bf16}; }

void PricingUnseenGemm(benchmark::State& state) {
  const auto predictor = roofline();
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  std::int64_t tokens = 0;
  for (auto _ : state) {
    tokens = tokens % 8192 + 1;
    benchmark::DoNotOptimize(predictor->predict(gemm(tokens), gpu));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PricingUnseenGemm);

void PricingSeenGemm(benchmark::State& state) {
  const MemoPredictor predictor(roofline(), load_gpu("h200-sxm", {}));
  const Kernel kernel = gemm(64);
  for (auto _ : state) benchmark::DoNotOptimize(predictor.predict(kernel));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PricingSeenGemm);

Attention decode_attention(std::int64_t sequences, bool exact) {
  Attention attention{.query_heads = 32, .kv_heads = 8, .head_dim = 128};
  std::vector<SequenceSlice> slices;
  for (std::int64_t i = 0; i < sequences; ++i) slices.push_back({1, 1000 + 7 * i});
  attention.load = AttentionLoad::exact(std::move(slices));
  if (!exact) attention.load.sequences.clear();
  return attention;
}

void PricingAttentionExact(benchmark::State& state) {
  const auto predictor = roofline();
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel kernel = decode_attention(state.range(0), true);
  for (auto _ : state) benchmark::DoNotOptimize(predictor->predict(kernel, gpu));
}
BENCHMARK(PricingAttentionExact)->Arg(16)->Arg(256);

void PricingAttentionAggregate(benchmark::State& state) {
  const auto predictor = roofline();
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel kernel = decode_attention(state.range(0), false);
  for (auto _ : state) benchmark::DoNotOptimize(predictor->predict(kernel, gpu));
}
BENCHMARK(PricingAttentionAggregate)->Arg(16)->Arg(256);

}  // namespace
}  // namespace foretoken

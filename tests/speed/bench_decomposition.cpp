// What it costs to cut a launch into tasks, and to place those tasks on SMs: prefill and decode
// attention of 70B-sized heads, and the first product that asks for the tile profile.
#include <benchmark/benchmark.h>

#include "kernels/estimators/features.hpp"
#include "kernels/tasks/sm_scheduler.hpp"

namespace foretoken {
namespace {

const GpuSpec& h200() {
  static const GpuSpec gpu = load_gpu("h200-sxm", {});
  return gpu;
}

Kernel attention(KernelSource source, int heads, std::vector<SequenceSlice> slices,
                 bool causal = true) {
  Attention kernel{.query_heads = heads, .kv_heads = std::max(1, heads / 8), .head_dim = 128};
  kernel.causal = causal;
  kernel.load = AttentionLoad::exact(std::move(slices));
  kernel.implementation.source = source;
  return kernel;
}

std::vector<SequenceSlice> equal(std::int64_t sequences, std::int64_t tokens) {
  return std::vector<SequenceSlice>(static_cast<std::size_t>(sequences), {tokens, tokens});
}

/// Contexts of 1,000 to 8,651 tokens in no order; `queries` tokens of each are new.
std::vector<SequenceSlice> unequal(std::int64_t sequences, std::int64_t queries) {
  std::vector<SequenceSlice> slices;
  for (std::int64_t i = 0; i < sequences; ++i) slices.push_back({queries, 1000 + 37 * i % 7652});
  return slices;
}

void decompose_only(benchmark::State& state, const Kernel& kernel) {
  for (auto _ : state) benchmark::DoNotOptimize(decompose(kernel, h200()));
}

void decompose_and_place(benchmark::State& state, const Kernel& kernel) {
  for (auto _ : state) benchmark::DoNotOptimize(analyze(decompose(kernel, h200()), h200()));
}

#define FORETOKEN_BENCH_ATTENTION(name, ...)                       \
  BENCHMARK_CAPTURE(decompose_only, name, attention(__VA_ARGS__)); \
  BENCHMARK_CAPTURE(decompose_and_place, name, attention(__VA_ARGS__))

FORETOKEN_BENCH_ATTENTION(flashinfer_fa3_8x2048_64_heads, KernelSource::flashinfer_fa3, 64,
                          equal(8, 2048));
FORETOKEN_BENCH_ATTENTION(flashinfer_fa3_8x2048_16_heads, KernelSource::flashinfer_fa3, 16,
                          equal(8, 2048));
FORETOKEN_BENCH_ATTENTION(flashinfer_fa3_8x2048_64_heads_no_mask, KernelSource::flashinfer_fa3, 64,
                          equal(8, 2048), false);
FORETOKEN_BENCH_ATTENTION(flashinfer_fa3_256_chunks_64_heads, KernelSource::flashinfer_fa3, 64,
                          unequal(256, 16));
FORETOKEN_BENCH_ATTENTION(flashinfer_fa2_8x2048_64_heads, KernelSource::flashinfer_fa2, 64,
                          equal(8, 2048));
FORETOKEN_BENCH_ATTENTION(flashinfer_decode_256_contexts_64_heads,
                          KernelSource::flashinfer_decode_tc, 64, unequal(256, 1));
FORETOKEN_BENCH_ATTENTION(flash_attention_3_8x2048_64_heads, KernelSource::flash_attention_3, 64,
                          equal(8, 2048));
FORETOKEN_BENCH_ATTENTION(flash_attention_3_256_contexts_64_heads, KernelSource::flash_attention_3,
                          64, unequal(256, 1));

void decompose_cublas_gemm(benchmark::State& state) {
  std::int64_t tokens = 0;
  for (auto _ : state) {
    tokens = tokens % 8192 + 1;
    benchmark::DoNotOptimize(decompose(Gemm{tokens, 6144, 4096, DType::bf16}, h200()));
  }
}
BENCHMARK(decompose_cublas_gemm);

}  // namespace
}  // namespace foretoken

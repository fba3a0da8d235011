// Recurrences, sparse attention, its index and hyper-connections: work by hand, prices that grow
// with it and stay above physics.
#include <gmock/gmock.h>

#include "hardware/gpu.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/predictor.hpp"
#include "kernels/roof.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "tests/unit/kernels/default_synperf.hpp"

namespace foretoken::hybrid_kernels_test {
namespace {

AttentionLoad equal(std::int64_t sequences, std::int64_t queries, std::int64_t context) {
  return AttentionLoad::exact(
      std::vector<SequenceSlice>(static_cast<std::size_t>(sequences), {queries, context}));
}

StateScan delta(const AttentionLoad& load) {
  return {.kind = StateKind::delta_net,
          .key_heads = 16,
          .value_heads = 32,
          .key_dim = 128,
          .value_dim = 128,
          .load = StateLoad::of(load)};
}

Seconds synperf(const Kernel& kernel, const char* gpu = "h200-sxm") {
  const auto predictor = default_synperf();
  return predictor->predict(kernel, load_gpu(gpu, {})).time;
}

// 64 sequences: 32 states of 128 x 128 in fp32 come and go; a token has queries and keys of 16
// heads, values in and out of 32, and a decay a head.
TEST(HybridKernels, DecodeOfADeltaNetMovesItsStates) {
  const KernelWork work = kernel_work(delta(equal(64, 1, 5000)));
  EXPECT_EQ(work.dram_bytes,
            Bytes(64.0 * (2 * 32 * 128 * 128 * 4 + (2 * 16 * 128 + 2 * 32 * 128 + 32) * 2)));
  EXPECT_EQ(work.fma_ops, 64.0 * 3 * 32 * 128 * 128);
  EXPECT_EQ(work.tensor_flops, 0);
}

TEST(HybridKernels, ContextsDoNotMatterToAState) {
  EXPECT_EQ(kernel_work(delta(equal(4, 1, 100))), kernel_work(delta(equal(4, 1, 1'000'000))));
  EXPECT_EQ(kernel_hash(Kernel(delta(equal(4, 1, 100)))),
            kernel_hash(Kernel(delta(equal(4, 1, 1'000'000)))));
}

// Chunks of a prompt follow each other: short prompts beside a long one do not shorten it.
TEST(HybridKernels, AScanTakesAsLongAsItsLongestPrompt) {
  const auto scan = [](std::vector<SequenceSlice> prompts) {
    return synperf(delta(AttentionLoad::exact(std::move(prompts))));
  };
  const Seconds alone = scan({{4000, 4000}});
  const Seconds beside = scan({{4000, 4000}, {5, 5}});
  const Seconds beside_three = scan({{4000, 4000}, {5, 5}, {5, 5}, {5, 5}});
  EXPECT_GE(beside, alone * 0.99);
  EXPECT_GE(beside_three, beside * 0.99);
  EXPECT_LE(beside_three, alone * 1.1);
  EXPECT_GT(beside_three, scan({{1005, 1005}, {1005, 1005}, {1005, 1005}, {1005, 1005}}));
  EXPECT_EQ(StateLoad::of(equal(3, 70, 70)).prefill_longest, 0);
}

TEST(HybridKernels, AConvolutionKeepsThreeTokensAChannel) {
  const StateConvolution kernel{
      .channels = 8192, .taps = 4, .load = StateLoad::of(equal(2, 10, 10))};
  EXPECT_EQ(kernel_work(kernel).dram_bytes,
            Bytes(2.0 * (2 * 20 * 8192 + 2 * 2 * 8192 * 3 + 8192 * 4)));
}

// A decode of 10,000 tokens sees 2,048 of them.
TEST(HybridKernels, SparseAttentionReadsWhatWasPicked) {
  SparseAttention kernel{.query_heads = 128,
                         .kv_heads = 1,
                         .key_dim = 576,
                         .value_dim = 512,
                         .values_are_keys = true,
                         .selected = 2048,
                         .load = equal(1, 1, 10'000)};
  const KernelWork work = kernel_work(kernel);
  EXPECT_EQ(work.tensor_flops, 2.0 * 2048 * 128 * (576 + 512));
  EXPECT_EQ(work.dram_bytes, Bytes(128.0 * (576 + 512) * 2 + 2048.0 * 576 * 2));
  kernel.load = equal(1, 1, 1'000'000);
  EXPECT_EQ(kernel_work(kernel), work);
  kernel.load = equal(1, 1, 1000);
  EXPECT_EQ(kernel_work(kernel).tensor_flops, 2.0 * 1000 * 128 * (576 + 512));
}

// 128 latest keys, and one for every 128 tokens of 128,000.
TEST(HybridKernels, CompressedKeysComeBesideAWindow) {
  const SparseAttention kernel{.query_heads = 64,
                               .kv_heads = 1,
                               .key_dim = 512,
                               .value_dim = 512,
                               .values_are_keys = true,
                               .ratio = 128,
                               .window = 128,
                               .load = equal(1, 1, 128'000)};
  EXPECT_EQ(kernel_work(kernel).tensor_flops, 2.0 * (128 + 1000) * 64 * 1024);
}

TEST(HybridKernels, AnIndexScoresEveryKey) {
  const KeyIndexer kernel{
      .heads = 64, .head_dim = 128, .selected = 2048, .load = equal(1, 1, 10'000)};
  const KernelWork work = kernel_work(kernel);
  EXPECT_EQ(work.tensor_flops, 2.0 * 10'000 * 64 * 128);
  EXPECT_EQ(work.dram_bytes, Bytes((64.0 + 10'000) * 128 + 2048 * 4));
}

TEST(HybridKernels, HyperConnectionsMoveAllStreams) {
  const HyperConnection post{.tokens = 10, .hidden = 4096, .streams = 4, .part = HyperPart::post};
  EXPECT_EQ(kernel_work(post).dram_bytes, Bytes(10.0 * 4096 * 9 * 2));
}

TEST(HybridKernels, PricesAreAboveTheirRoof) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const std::vector<Kernel> kernels = {
      delta(equal(64, 1, 5000)), delta(equal(4, 2048, 2048)),
      KeyIndexer{.heads = 64, .head_dim = 128, .selected = 2048, .load = equal(8, 1, 100'000)},
      SparseAttention{.query_heads = 128,
                      .kv_heads = 1,
                      .key_dim = 576,
                      .value_dim = 512,
                      .values_are_keys = true,
                      .selected = 2048,
                      .load = equal(1, 4096, 8192)},
      HyperConnection{.tokens = 4096, .hidden = 7168}};
  for (const Kernel& kernel : kernels) {
    EXPECT_GT(synperf(kernel), least_time(kernel, gpu).time) << kernel_name(kernel);
    EXPECT_LT(synperf(kernel), 60.0 * least_time(kernel, gpu).time) << kernel_name(kernel);
    EXPECT_FALSE(decompose(kernel, gpu).launches.empty());
  }
}

/// Nobody timed the paged kernel with other heads than 64; fewer never cost more.
TEST(HybridKernels, DecodesAreScoredByThePagedKernel) {
  for (const std::int64_t context : {100, 8192, 65'536, 1'000'000}) {
    KeyIndexer index{.heads = 64, .head_dim = 128, .selected = 2048, .load = equal(4, 1, context)};
    const Seconds of_64 = synperf(index);
    index.heads = 32;
    EXPECT_EQ(synperf(index), of_64) << context;
  }
}

/// Of V3.2's 128 heads some on each rank; 16-bit latents are read by vLLM as prompts are.
TEST(HybridKernels, FewerHeadsOfLatentsNeverCostMore) {
  for (const std::int64_t sequences : {1, 16, 64, 512}) {
    SparseAttention sparse{.query_heads = 128,
                           .kv_heads = 1,
                           .key_dim = 576,
                           .value_dim = 512,
                           .values_are_keys = true,
                           .selected = 2048,
                           .kv_dtype = DType::fp8,
                           .load = equal(sequences, 1, 8192)};
    Seconds last = synperf(sparse);
    for (const int heads : {64, 32, 16, 8}) {
      sparse.query_heads = heads;
      EXPECT_LE(synperf(sparse), last) << heads << " heads, " << sequences << " sequences";
      last = synperf(sparse);
    }
    sparse.kv_dtype = DType::bf16;
    if (sequences == 1) {
      EXPECT_GT(synperf(sparse), 2.0 * last);
    }
    sparse.implementation.framework = Framework::sglang;
    EXPECT_LE(synperf(sparse), 1.3 * last);
  }
}

TEST(HybridKernels, MoreWorkNeverCostsLess) {
  Seconds last;
  for (const std::int64_t tokens : {1, 60, 64, 65, 500, 4096, 30'000}) {
    const Seconds time = synperf(delta(equal(2, std::max<std::int64_t>(tokens, 2), tokens + 2)));
    EXPECT_GE(time, last) << tokens;
    last = time;
  }
  last = Seconds(0.0);
  for (const std::int64_t context : {10, 2048, 2049, 50'000, 1'000'000}) {
    const Seconds time = synperf(
        KeyIndexer{.heads = 64, .head_dim = 128, .selected = 2048, .load = equal(16, 1, context)});
    EXPECT_GE(time, last) << context;
    last = time;
  }
}

}  // namespace
}  // namespace foretoken::hybrid_kernels_test

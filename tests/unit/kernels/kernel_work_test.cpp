// Counts by hand, and the properties that hold whatever the counts are.
#include "kernels/kernel_work.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/kernels/example_gpu.hpp"

namespace foretoken {
namespace {

Attention attention_on(AttentionLoad load, std::int64_t window = 0) {
  return {8, 2, 64, DType::bf16, DType::bf16, true, window, 16, std::move(load)};
}

AttentionLoad aggregate(const std::vector<SequenceSlice>& slices) {
  AttentionLoad load = AttentionLoad::exact(slices);
  load.sequences.clear();
  return load;
}

TEST(KernelWork, GemmIn16Bit) {
  const KernelWork work = kernel_work(Gemm{100, 200, 300, DType::bf16});
  EXPECT_EQ(work.tensor_flops, 2.0 * 100 * 200 * 300);
  EXPECT_EQ(work.tensor_dtype, DType::bf16);
  EXPECT_EQ(work.weight_bytes.value(), 200 * 300 * 2);
  EXPECT_EQ(work.dram_bytes.value(), (100 * 300 + 200 * 300 + 100 * 200) * 2);
  EXPECT_EQ(work.l2_bytes, work.dram_bytes);
  EXPECT_EQ(work.fma_ops, 0);
}

// Three adapters' weights, each token's input once, and what is there already read and written.
// 1,000 logits, 3 rows of 2 sequences. vLLM: gather 4, cast 6, argmax 4 of a row, and the gather of
// a sequence's own; drawn: divide 8, softmax 8, read 4, and noise of a sequence 8. SGLang: cast 6,
// divide 8, softmax 8, renormalise 8, zeros 4; 16 of a sequence.
TEST(KernelWork, VerificationMovesWhatEachEngineDoes) {
  const auto bytes = [](Framework framework, SamplingMethod method) {
    return kernel_work(DraftVerification{.rows = 3,
                                         .sequences = 2,
                                         .vocabulary = 1000,
                                         .method = method,
                                         .framework = framework})
        .dram_bytes.value();
  };
  EXPECT_EQ(bytes(Framework::vllm, SamplingMethod::greedy), 1000.0 * (3 * 14 + 2 * 4));
  EXPECT_EQ(bytes(Framework::vllm, SamplingMethod::top_p), 1000.0 * (3 * 30 + 2 * 12));
  EXPECT_EQ(bytes(Framework::sglang, SamplingMethod::top_p), 1000.0 * (3 * 34 + 2 * 16));
  EXPECT_FALSE(has_draft_verification(Framework::sglang, SamplingMethod::greedy));
  EXPECT_FALSE(has_draft_verification(Framework::trtllm, SamplingMethod::top_p));
}

TEST(KernelWork, LowRankProductsReadTheirAdaptersOnce) {
  const KernelWork work = kernel_work(LowRank{.tokens = 100, .adapters = 3, .in = 16, .out = 400});
  EXPECT_EQ(work.tensor_flops, 2.0 * 100 * 16 * 400);
  EXPECT_EQ(work.weight_bytes.value(), 3 * 16 * 400 * 2);
  EXPECT_EQ(work.dram_bytes.value(), (3 * 16 * 400 + 100 * 16 + 2 * 100 * 400) * 2);
}

TEST(KernelWork, GemmBelow16BitQuantisesItsInput) {
  const KernelWork work = kernel_work(Gemm{100, 200, 300, DType::fp8});
  EXPECT_EQ(work.weight_bytes.value(), 200 * 300);
  // Input: 2 bytes read, 1 written; weights 1; output 2.
  EXPECT_EQ(work.dram_bytes.value(), 100 * 300 * 3 + 200 * 300 + 100 * 200 * 2);
  // The product reads the quantised input back.
  EXPECT_EQ(work.l2_bytes.value(), work.dram_bytes.value() + 100 * 300);
  EXPECT_EQ(work.fma_ops, 2.0 * 100 * 300);
}

TEST(KernelWork, BatchedGemmIsSoManyProducts) {
  const KernelWork one = kernel_work(Gemm{.m = 4, .n = 512, .k = 128});
  const KernelWork sixteen = kernel_work(BatchedGemm{.batch = 16, .m = 4, .n = 512, .k = 128});
  EXPECT_EQ(sixteen.tensor_flops, 16.0 * 2 * 4 * 512 * 128);
  EXPECT_EQ(sixteen.weight_bytes, Bytes(16.0 * 512 * 128 * 2));
  EXPECT_EQ(sixteen.dram_bytes, 16.0 * one.dram_bytes);
}

TEST(KernelWork, GemmInFp32QuantisesNothing) {
  const KernelWork work = kernel_work(Gemm{10, 20, 30, DType::fp32});
  EXPECT_EQ(work.dram_bytes.value(), (10 * 30 + 20 * 30 + 10 * 20) * 4);
  EXPECT_EQ(work.fma_ops, 0);
}

TEST(KernelWork, AttentionByHand) {
  // A prompt of 4 (10 pairs) and a decode over 100 (100 pairs): 110 pairs, 8 heads, dimension 64.
  const KernelWork work = kernel_work(attention_on(AttentionLoad::exact({{4, 4}, {1, 100}})));
  EXPECT_EQ(work.tensor_flops, 4.0 * 110 * 8 * 64);
  EXPECT_EQ(work.xu_ops, 110 * 8 + 5 * 8);
  // Query and output: 5 rows of 8 x 64, twice; cache: 104 tokens of 2 x 2 x 64; 2 bytes each.
  EXPECT_EQ(work.dram_bytes.value(), (2 * 5 * 8 * 64 + 104 * 2 * 2 * 64) * 2);
  EXPECT_EQ(work.weight_bytes.value(), 0);
}

TEST(KernelWork, AttentionOnAnFp8CacheMultipliesIn16Bit) {
  Attention attention = attention_on(AttentionLoad::exact({{1, 100}}));
  attention.kv_dtype = DType::fp8;
  const KernelWork work = kernel_work(attention);
  EXPECT_EQ(work.tensor_dtype, DType::bf16);
  EXPECT_EQ(work.dram_bytes.value(), 2 * 8 * 64 * 2 + 100 * 2 * 2 * 64);
}

TEST(KernelWork, WindowsSpareKeysExactly) {
  // Window 16. Decode over 100 reads 16. A chunk of 4 after 96 reads the 4 and the 15 before its
  // first. A prompt of 10 is within the window.
  const AttentionLoad load = AttentionLoad::exact({{1, 100}, {4, 100}, {10, 10}});
  EXPECT_EQ(kv_tokens_read(load, 16), 16 + 19 + 10);
  EXPECT_EQ(attention_pairs(load, true, 16), 16 + 4 * 16 + 55);
  EXPECT_EQ(kv_tokens_read(load, 0), 210);
}

TEST(KernelWork, SumsBoundWindowedLoadsFromAboveAndMeetThemAtBothEnds) {
  const std::vector<SequenceSlice> short_ones = {{1, 9}, {4, 12}, {1, 16}};
  const std::vector<SequenceSlice> long_ones = {{1, 90}, {4, 120}, {1, 160}};
  const std::vector<SequenceSlice> mixed = {{1, 9}, {1, 160}, {8, 8}, {8, 200}};
  for (const auto& slices : {short_ones, long_ones, mixed}) {
    const AttentionLoad exact = AttentionLoad::exact(slices);
    EXPECT_GE(kv_tokens_read(aggregate(slices), 16), kv_tokens_read(exact, 16));
    EXPECT_GE(attention_pairs(aggregate(slices), true, 16), attention_pairs(exact, true, 16));
  }
  for (const auto& slices : {short_ones, long_ones}) {
    const AttentionLoad exact = AttentionLoad::exact(slices);
    EXPECT_EQ(kv_tokens_read(aggregate(slices), 16), kv_tokens_read(exact, 16));
    EXPECT_EQ(attention_pairs(aggregate(slices), true, 16), attention_pairs(exact, true, 16));
  }
}

TEST(KernelWork, CausalAttentionNeedsNoListOfSequences) {
  const std::vector<SequenceSlice> slices = {{512, 2048}, {1, 77}, {1, 4096}, {33, 33}};
  EXPECT_EQ(kernel_work(attention_on(AttentionLoad::exact(slices))),
            kernel_work(attention_on(aggregate(slices))));
}

TEST(KernelWork, WithoutAMaskEveryQuerySeesTheWholeContext) {
  const std::vector<SequenceSlice> equal = {{4, 4}, {4, 10}};
  EXPECT_EQ(attention_pairs(AttentionLoad::exact(equal), false, 0), 4 * 4 + 4 * 10);
  EXPECT_EQ(attention_pairs(aggregate(equal), false, 0), 4 * 4 + 4 * 10);
  EXPECT_EQ(attention_pairs(AttentionLoad::exact(equal), false, 5), 4 * 4 + 4 * 5);
}

TEST(KernelWork, AttentionAddsOverSequences) {
  const std::vector<SequenceSlice> slices = {{512, 2048}, {1, 77}, {1, 4096}, {33, 33}};
  for (const std::int64_t window : {0, 64}) {
    KernelWork sum;
    for (const SequenceSlice& slice : slices) {
      const KernelWork one = kernel_work(attention_on(AttentionLoad::exact({slice}), window));
      sum.tensor_flops += one.tensor_flops;
      sum.fma_ops += one.fma_ops;
      sum.xu_ops += one.xu_ops;
      sum.dram_bytes += one.dram_bytes;
      sum.l2_bytes += one.l2_bytes;
    }
    EXPECT_EQ(kernel_work(attention_on(AttentionLoad::exact(slices), window)), sum);
  }
}

TEST(KernelWork, MlaSharesOneLatentAmongAllHeads) {
  const KernelWork work =
      kernel_work(Mla{16, 512, 64, DType::bf16, DType::fp8, AttentionLoad::exact({{1, 1000}})});
  EXPECT_EQ(work.tensor_flops, 2.0 * 1000 * 16 * (576 + 512));
  EXPECT_EQ(work.dram_bytes.value(), 16 * (576 + 512) * 2 + 1000 * 576);
}

TEST(KernelWork, StreamingKernels) {
  EXPECT_EQ(kernel_work(RmsNorm{10, 64}).dram_bytes.value(), (2 * 10 * 64 + 64) * 2);
  EXPECT_EQ(kernel_work(RmsNorm{10, 64}).weight_bytes.value(), 64 * 2);
  EXPECT_EQ(kernel_work(FusedAddRmsNorm{10, 64}).dram_bytes.value(), (4 * 10 * 64 + 64) * 2);
  EXPECT_EQ(kernel_work(QkNorm{10, 4, 64}).dram_bytes.value(), (2 * 10 * 4 * 64 + 2 * 64) * 2);
  // In place, a row of cosines and sines and an 8-byte position a token.
  EXPECT_EQ(kernel_work(Rope{10, 4, 64}).dram_bytes.value(),
            2 * 10 * 4 * 64 * 2 + 10 * (64 * 2 + 8));
  // Keys and values: 2 bytes read, 1 written; an 8-byte slot a token.
  EXPECT_EQ(kernel_work(KvWrite{10, 4, 64, DType::bf16, DType::fp8}).dram_bytes.value(),
            2 * 10 * 4 * 64 * 3 + 10 * 8);
  EXPECT_EQ(kernel_work(SiluAndMul{10, 64}).dram_bytes.value(), 3 * 10 * 64 * 2);
  EXPECT_EQ(kernel_work(SiluAndMul{10, 64}).xu_ops, 2 * 10 * 64);
  EXPECT_EQ(kernel_work(Embedding{10, 64}).dram_bytes.value(), 2 * 10 * 64 * 2 + 10 * 8);
  // 18 bytes a logit over three launches, 8 a row.
  EXPECT_EQ(kernel_work(Sampling{10, 1000}).dram_bytes.value(), 10 * 1000 * 18 + 10 * 8);
  EXPECT_EQ(kernel_work(Sampling{10, 1000, SamplingMethod::greedy}).dram_bytes.value(),
            10 * 1000 * 10 + 10 * 8);
  EXPECT_EQ(kernel_work(TopKRouting{10, 64, 8}).dram_bytes.value(), 10 * 64 * 2 + 10 * 8 * 12);
}

TEST(KernelWork, ActivationsStayIn16BitWhateverTheWeights) {
  EXPECT_EQ(kernel_work(SiluAndMul{10, 64, DType::nvfp4}), kernel_work(SiluAndMul{10, 64}));
}

FusedMoe moe_with(Routing routing, int ep = 1) {
  return {16, 8, 2, 64, 32, DType::bf16, 1, ep, std::move(routing)};  // 32 assignments, 8 experts
}

TEST(KernelWork, FusedMoeByHand) {
  FusedMoe moe = moe_with({});
  moe.tp = 2;
  const KernelWork work = kernel_work(moe);
  // 32 token-expert pairs, hidden 64, width 16: gate, up and down.
  EXPECT_EQ(work.tensor_flops, 6.0 * 32 * 64 * 16);
  EXPECT_EQ(work.weight_bytes.value(), 8 * 3 * 64 * 16 * 2);
  EXPECT_EQ(work.dram_bytes.value(), work.weight_bytes.value() + 2 * 16 * 64 * 2);
  // Between the launches: gate and up, activation, down; 2 bytes, written and read.
  EXPECT_EQ(work.l2_bytes.value(), work.dram_bytes.value() + 32 * (3 * 16 + 64) * 2 * 2);
}

TEST(KernelWork, ExpertsWithoutGateByHand) {
  FusedMoe moe = moe_with({});
  moe.tp = 2;
  moe.ungated = true;
  const KernelWork work = kernel_work(moe);
  // 32 token-expert pairs, hidden 64, width 16: up and down, ReLU^2 between.
  EXPECT_EQ(work.tensor_flops, 4.0 * 32 * 64 * 16);
  EXPECT_EQ(work.weight_bytes.value(), 8 * 2 * 64 * 16 * 2);
  EXPECT_EQ(work.xu_ops, 0);
  EXPECT_EQ(work.fma_ops, 2 * 32 * 16 + 32 * 64);
  EXPECT_EQ(work.l2_bytes.value(), work.dram_bytes.value() + 32 * (2 * 16 + 64) * 2 * 2);
}

TEST(KernelWork, FusedMoeReadsOnlyActiveExperts) {
  const Routing two_experts{Routing::Kind::histogram, 0, {0, 20, 0, 0, 12, 0, 0, 0}};
  EXPECT_EQ(kernel_work(moe_with(two_experts)).weight_bytes.value(), 2 * 3 * 64 * 32 * 2);
  EXPECT_EQ(kernel_work(moe_with(two_experts)).tensor_flops,
            kernel_work(moe_with({})).tensor_flops);
}

TEST(KernelWork, FusedMoeWorksForTheBusiestRank) {
  // Two ranks of four: 20 + 1 + 1 tokens on three experts, 10 on four.
  const Routing routing{Routing::Kind::histogram, 0, {20, 0, 1, 1, 4, 2, 2, 2}};
  const KernelWork work = kernel_work(moe_with(routing, 2));
  EXPECT_EQ(work.tensor_flops, 6.0 * 22 * 64 * 32);
  EXPECT_EQ(work.weight_bytes.value(), 3 * 3 * 64 * 32 * 2);
}

TEST(KernelWork, FusedMoeReadsAPowerLawAsTheTablesDo) {
  // 16 tokens x 2 over 8 experts: log-uniform over [1, 12.8]; the quantiles 15/16 .. 1/16
  // are 10.91, 7.93, 5.77, 4.19, 3.05, 2.22, 1.61, 1.17, in
  // all 36.86: 9.5, 6.9, 5.0, 3.6, 2.6, 1.9, 1.4, 1.0 of 32 round to 32 (9, 7, 5, 4, 3, 2, 1, 1):
  // no expert is idle.
  const KernelWork work = kernel_work(moe_with({Routing::Kind::power_law, 1.0, {}}));
  EXPECT_EQ(work.tensor_flops, 6.0 * 32 * 64 * 32);
  EXPECT_EQ(work.weight_bytes.value(), 8 * 3 * 64 * 32 * 2);
}

TEST(KernelWork, CollectivesAreRefused) {
  EXPECT_THROW(kernel_work(Collective{}), PredictionError);
}

}  // namespace
}  // namespace foretoken

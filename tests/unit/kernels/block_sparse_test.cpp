// MiniMax-M3's index of blocks and the attention to them: the tasks of their launches by hand,
// prices that follow them, and that grow with the work.
#include <gmock/gmock.h>

#include "hardware/gpu.hpp"
#include "kernels/predictor.hpp"
#include "kernels/roof.hpp"
#include "kernels/tasks/decomposition.hpp"
#include "tests/unit/kernels/default_synperf.hpp"

namespace foretoken::block_sparse_test {
namespace {

AttentionLoad one(std::int64_t queries, std::int64_t context) {
  return AttentionLoad::exact({{queries, context}});
}

KeyIndexer index_of(Framework framework, const AttentionLoad& load, int heads = 4) {
  KeyIndexer index{.heads = heads,
                   .head_dim = 128,
                   .selected = 2048,
                   .block = 128,
                   .dtype = DType::bf16,
                   .load = load};
  index.implementation.framework = framework;
  return index;
}

SparseAttention attention_of(Framework framework, const AttentionLoad& load, int heads = 64) {
  SparseAttention attention{.query_heads = heads,
                            .kv_heads = std::max(heads / 16, 1),
                            .key_dim = 128,
                            .value_dim = 128,
                            .selected = 2048,
                            .load = load};
  attention.implementation.framework = framework;
  return attention;
}

double price(const Kernel& kernel, const GpuSpec& gpu) {
  const auto predictor = default_synperf();
  return predictor->predict(kernel, gpu).time.value() * 1e6;
}

double price(const Kernel& kernel, const char* gpu = "h100-sxm") {
  return price(kernel, load_gpu(gpu, {}));
}

// 130 queries behind 870 keys: tiles of 64, 64 and 2 queries see 934, 998 and 1,000 keys, which
// are 8 blocks each. Queries 0 to 25 end in the seventh block, the others in the eighth.
TEST(BlockSparse, AnIndexScoresBySixtyFourQueries) {
  const Decomposition cut =
      decompose(index_of(Framework::vllm, one(130, 1000)), load_gpu("h100-sxm", {}));
  ASSERT_EQ(cut.launches.size(), 2U);
  const Launch& scores = cut.launches[0];
  EXPECT_EQ(scores.task_count(), 3 * 4);
  ASSERT_EQ(scores.tasks.size(), 1U);
  EXPECT_EQ(scores.tasks[0].task.tensor_ops, 2.0 * 64 * 1024 * 128);
  EXPECT_EQ(scores.tasks[0].task.bytes_loaded, (64.0 + 1024) * 128 * 2);
  const Launch& picks = cut.launches[1];
  EXPECT_EQ(picks.task_count(), 130 * 4);
  EXPECT_EQ(picks.tasks[0].count, 26);
  EXPECT_EQ(picks.tasks[0].task.fma_ops, 7);
  EXPECT_EQ(picks.tasks[1].count, 104);
  EXPECT_EQ(picks.tasks[1].task.fma_ops, 8);
}

// The first 128 queries see one block, the next 128 two; behind 16 blocks it stays at 16. Eight
// query heads of one KV head are padded to 16 rows.
TEST(BlockSparse, AttentionWalksWhatAQueryPicked) {
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  const Decomposition first = decompose(attention_of(Framework::vllm, one(256, 256), 8), gpu);
  ASSERT_EQ(first.launches.size(), 1U);
  const TaskList& tasks = first.launches[0].tasks;
  ASSERT_EQ(tasks.size(), 2U);
  EXPECT_EQ(tasks[0].count, 128);
  EXPECT_EQ(tasks[0].task.tensor_ops, 2.0 * 16 * 128 * 256);
  EXPECT_EQ(tasks[1].task.tensor_ops, 2 * tasks[0].task.tensor_ops);
  const Decomposition later = decompose(attention_of(Framework::vllm, one(256, 9000), 64), gpu);
  ASSERT_EQ(later.launches[0].tasks.size(), 1U);
  EXPECT_EQ(later.launches[0].task_count(), 256 * 4);
  EXPECT_EQ(later.launches[0].tasks[0].task.tensor_ops, 16 * tasks[0].task.tensor_ops);
}

// One CTA walks 8,192 blocks, 2.7 us each; 16 queries cost what 64 do, and a second sequence
// nothing but its selection.
TEST(BlockSparse, AnIndexWalksAllKeysAlone) {
  constexpr std::int64_t keys = 1 << 20;
  const double alone = price(index_of(Framework::sglang, one(16, keys)));
  EXPECT_NEAR(alone, 8192 * 2.7, 0.02 * alone);
  EXPECT_NEAR(price(index_of(Framework::sglang, one(64, keys))), alone, 0.01 * alone);
  const AttentionLoad two = AttentionLoad::exact({{16, keys}, {16, keys}});
  EXPECT_NEAR(price(index_of(Framework::sglang, two)), alone, 0.01 * alone);
  EXPECT_LT(price(index_of(Framework::vllm, one(16, keys))), 0.5 * alone);
}

/// 8,192 queries of four KV heads, 16 blocks each, on 132 SMs.
TEST(BlockSparse, AttentionTakesItsTilesOnEachSm) {
  const AttentionLoad load = one(8192, 100'000);
  const double tiles = 8192.0 * 4 * 16 / 132;
  EXPECT_NEAR(price(attention_of(Framework::vllm, load)), tiles * 1.0, 10);
  EXPECT_NEAR(price(attention_of(Framework::sglang, load)), tiles * 1.48, 25);
  SparseAttention in_8bit = attention_of(Framework::sglang, load);
  in_8bit.kv_dtype = DType::fp8;
  EXPECT_NEAR(price(in_8bit), tiles * 3.9, 25);
}

/// fmha_sm100 gathers the queries of a block: what a query takes goes with its heads.
TEST(BlockSparse, DataCentreBlackwellGathersQueries) {
  const auto at = [](Framework framework, int heads) {
    return price(attention_of(framework, one(8192, 100'000), heads), "b200-sxm");
  };
  EXPECT_LT(at(Framework::vllm, 64), 0.5 * at(Framework::sglang, 64));
  EXPECT_LT(at(Framework::vllm, 8), 0.3 * at(Framework::vllm, 64));
  EXPECT_NE(decompose(attention_of(Framework::vllm, one(64, 9000)), load_gpu("b200-sxm", {}))
                .approximation,
            "");
}

TEST(BlockSparse, MoreWorkNeverCostsLess) {
  for (const char* gpu : {"h100-sxm", "b200-sxm"}) {
    for (const Framework framework : {Framework::vllm, Framework::sglang}) {
      double index = 0, attention = 0;
      for (std::int64_t context = 64; context < 2'000'000; context = context * 3 / 2 + 1) {
        const AttentionLoad load = one(std::min<std::int64_t>(context, 5000), context);
        const double next_index = price(index_of(framework, load), gpu);
        const double next_attention = price(attention_of(framework, load), gpu);
        EXPECT_GE(next_index, index) << gpu << ", context " << context;
        EXPECT_GE(next_attention, attention) << gpu << ", context " << context;
        index = next_index;
        attention = next_attention;
      }
      index = attention = 0;
      for (std::int64_t queries = 2; queries < 10'000; queries = queries * 4 / 3 + 1) {
        const AttentionLoad load = one(queries, 50'000);
        const double next_index = price(index_of(framework, load), gpu);
        const double next_attention = price(attention_of(framework, load), gpu);
        EXPECT_GE(next_index, index) << gpu << ", queries " << queries;
        EXPECT_GE(next_attention, attention) << gpu << ", queries " << queries;
        index = next_index;
        attention = next_attention;
      }
    }
  }
}

TEST(BlockSparse, BetterGpusNeverCostMore) {
  const std::vector<Kernel> kernels = {index_of(Framework::sglang, one(4000, 90'000)),
                                       index_of(Framework::vllm, one(1, 500'000)),
                                       attention_of(Framework::sglang, one(4000, 90'000)),
                                       attention_of(Framework::vllm, one(1, 500'000))};
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  for (const Kernel& kernel : kernels) {
    const double before = price(kernel, gpu);
    EXPECT_GT(before, least_time(kernel, gpu).time.value() * 1e6) << kernel_name(kernel);
    GpuSpec better = gpu;
    better.sm_count *= 2;
    EXPECT_LE(price(kernel, better), before) << kernel_name(kernel);
    better = gpu;
    better.dram_bandwidth = better.dram_bandwidth * 2.0;
    EXPECT_LE(price(kernel, better), before) << kernel_name(kernel);
    better = gpu;
    better.clock = better.clock * 1.5;
    EXPECT_LE(price(kernel, better), before) << kernel_name(kernel);
  }
}

}  // namespace
}  // namespace foretoken::block_sparse_test

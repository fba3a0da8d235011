// What is left for KV blocks, by hand.

#include "sim/serving/memory_plan.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

// A model whose numbers multiply easily: 1 layer, hidden 8, 2 heads of 4, MLP 16, vocabulary 64.
Transformer tiny_model() {
  Transformer model;
  model.name = "tiny";
  model.layers = 1;
  model.hidden = 8;
  model.intermediate = 16;
  model.query_heads = 2;
  model.kv_heads = 2;
  model.head_dim = 4;
  model.vocabulary = 64;
  model.context_max = 1000;
  return model;
}

GpuSpec gpu_with(Bytes capacity) {
  GpuSpec gpu;
  gpu.name = "toy";
  gpu.memory_capacity = capacity;
  return gpu;
}

TEST(MemoryPlan, LeavesTheRestOfTheBudgetToBlocks) {
  // Parameters: embedding 64*8 = 512, LM head 512, QKV 8*24 = 192, output 8*8 = 64, gate-up 8*32 =
  // 256, down 16*8 = 128, norms 3*8 = 24: 1,688, in bf16 3,376 B.
  // Activations: 4 tokens * 2 B * (2*8 + 3*16) = 512 B; logits 2 rows * 64 * (2 + 8) = 1,280 B.
  // Runtime: 1e9 B. A block of 16 tokens: 16 * 2 (K, V) * 8 * 2 B = 512 B.
  // Budget at 0.5 of 2e9 + 20,000 B: 1e9 + 10,000 - 3,376 - 1,280 - 1e9 = 5,344 B: 10 blocks.
  ExecutionSettings execution;
  const MemoryLimits limits{.utilization = 0.5, .batch_tokens_max = 4, .sequences_max = 2};
  const GpuSpec gpu = gpu_with(Bytes(2e9 + 20'000.0));
  const MemoryPlan plan = plan_memory(tiny_model(), {}, execution, gpu, limits);
  EXPECT_DOUBLE_EQ(plan.weights.value(), 3376.0);
  EXPECT_DOUBLE_EQ(plan.activations.value(), 1280.0);
  EXPECT_DOUBLE_EQ(plan.kv_block.value(), 512.0);
  EXPECT_EQ(plan.kv_blocks, 10);
  EXPECT_NO_THROW(check_memory(plan, tiny_model(), {}, gpu, limits, {}));
}

TEST(MemoryPlan, SaysHowMuchIsMissing) {
  const MemoryLimits limits{.utilization = 0.5, .batch_tokens_max = 4, .sequences_max = 2};
  const GpuSpec gpu = gpu_with(Bytes(1e9));
  const MemoryPlan plan = plan_memory(tiny_model(), {}, {}, gpu, limits);
  EXPECT_EQ(plan.kv_blocks, 0);
  try {
    check_memory(plan, tiny_model(), {}, gpu, limits, {"a.toml", 2, 1});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(
        error.what(),
        "a.toml:2:1: tiny does not fit on toy: each GPU needs 3.3 KiB of weights, 1.25 KiB "
        "of activations and 954 MiB for the runtime, but memory_utilization = 0.5 of 954 "
        "MiB leaves 477 MiB; 477 MiB are missing. Raise tensor_parallel (now 1) or "
        "pipeline_parallel (now 1), choose a smaller dtype or a GPU with more memory");
  }
}

TEST(MemoryPlan, TensorParallelismSharesWeightsAndBlocks) {
  ExecutionSettings execution;
  const GpuSpec gpu = gpu_with(Bytes(4e9));
  ParallelLayout two;
  two.tensor = 2;
  const MemoryPlan one_rank = plan_memory(tiny_model(), {}, execution, gpu, {});
  const MemoryPlan two_ranks = plan_memory(tiny_model(), two, execution, gpu, {});
  EXPECT_LT(two_ranks.weights, one_rank.weights);
  EXPECT_DOUBLE_EQ(two_ranks.kv_block.value() * 2.0, one_rank.kv_block.value());
}

}  // namespace
}  // namespace foretoken

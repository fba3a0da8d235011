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

GpuSpec gpu_with(Bytes visible) {
  GpuSpec gpu;
  gpu.name = "toy";
  gpu.sm_count = 1;
  gpu.memory_capacity = 1.1 * visible;
  gpu.memory_visible = visible;
  return gpu;
}

constexpr double gibibyte = 1073741824.0;
constexpr double runtime = 0.15 * gibibyte, context = 0.5 * gibibyte;
// Parameters: embedding 64*8 = 512, LM head 512, QKV 8*24 = 192, output 8*8 = 64, gate-up 8*32 =
// 256, down 16*8 = 128, norms 3*8 = 24: 1,688, in bf16 3,376 B; rotary table 1,000 * 4 * 2 B.
constexpr double weights = 3'376.0 + 8'000.0;
// The layer: 4 tokens * 2 B * (2*8 + 3*16) = 512 B. Compiling: embedding 64*8*2 B = 1,024 B.
// Sampling: hidden states 4*8*2 = 64 B, 64 * (2 rows * (2 + 12) B + one SM * 4 B) = 2,048 B.
constexpr double activations = 2'112.0;

TEST(MemoryPlan, LeavesTheRestOfTheShareToBlocks) {
  // A block of 16 tokens: 16 * 2 (K, V) * 8 * 2 B = 512 B. 5,344 B are left: 10 blocks.
  ExecutionSettings execution;
  const MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2},
                            {.memory_utilization = 0.1}};
  const GpuSpec gpu = gpu_with(Bytes(10.0 * (runtime + weights + activations + 5'344.0)));
  const MemoryPlan plan = plan_memory(tiny_model(), {}, execution, gpu, limits);
  EXPECT_DOUBLE_EQ(plan.weights.value(), weights);
  EXPECT_DOUBLE_EQ(plan.activations.value(), activations);
  EXPECT_DOUBLE_EQ(plan.runtime.value(), runtime);
  EXPECT_DOUBLE_EQ(plan.communication.value(), 0.0);
  EXPECT_DOUBLE_EQ(plan.kv_block.value(), 512.0);
  EXPECT_NEAR(plan.kv_budget.value(), 5'344.0, 1e-3);
  EXPECT_EQ(plan.kv_blocks, 10);
  EXPECT_NO_THROW(check_memory(plan, tiny_model(), {}, gpu, limits, {}, {}));
}

// 100 tokens are 6 whole blocks of 16, of the 10 that fit; what the others would take is unused.
TEST(MemoryPlan, TokensMayBeCapped) {
  const GpuSpec gpu = gpu_with(Bytes(10.0 * (runtime + weights + activations + 5'344.0)));
  const auto plan = [&](std::int64_t kv_tokens_max) {
    return plan_memory(tiny_model(), {}, {}, gpu,
                       {{.batch_tokens_max = 4, .sequences_max = 2},
                        {.memory_utilization = 0.1, .kv_tokens_max = kv_tokens_max}});
  };
  EXPECT_EQ(plan(100).kv_blocks, 6);
  EXPECT_DOUBLE_EQ((plan(100).unused - plan(0).unused).value(), 4 * 512.0);
  EXPECT_EQ(plan(160).kv_blocks, 10);
  EXPECT_EQ(plan(1'000).kv_blocks, 10);
  EXPECT_EQ(plan(3).kv_blocks, 1);
}

// Slots are taken from the KV cache, full or not. Of rank 1 an adapter has, in 2 B each: 3 x 8 down
// and 24 up for QKV, 8 and 8 for the output, 2 x 8 and 32 for gate and up, 16 and 8 for down.
TEST(MemoryPlan, AdaptersHaveSlots) {
  ExecutionSettings execution;
  const MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2},
                            {.memory_utilization = 0.1}};
  const GpuSpec gpu = gpu_with(Bytes(10.0 * (runtime + weights + activations + 5'344.0)));
  execution.lora = LoraSettings{.adapters_max = 3, .rank = 1};
  const MemoryPlan plan = plan_memory(tiny_model(), {}, execution, gpu, limits);
  EXPECT_DOUBLE_EQ(plan.adapters.value(), 3 * 2.0 * (48 + 16 + 48 + 24));
  EXPECT_NEAR(plan.kv_budget.value(), 5'344.0 - plan.adapters.value(), 1e-3);
  EXPECT_EQ(plan.kv_blocks, 8);
  execution.lora->targets = LoraTargets::attention;
  EXPECT_DOUBLE_EQ(plan_memory(tiny_model(), {}, execution, gpu, limits).adapters.value(),
                   3 * 2.0 * (48 + 16));
}

// Ranks that share contexts hold so many times the tokens.
TEST(MemoryPlan, SharedContextsMultiplyTokens) {
  const Transformer model = load_model("deepseek-v3", {});
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const ExecutionSettings execution{.dtype = DType::fp8_block};
  const auto blocks = [&](int context) {
    const ParallelLayout layout{.tensor = 8, .decode_context = context};
    return static_cast<double>(plan_memory(model, layout, execution, gpu, {}).kv_blocks);
  };
  ASSERT_GT(blocks(1), 0);
  for (const int context : {2, 4, 8}) EXPECT_NEAR(blocks(context), context * blocks(1), context);
}

TEST(MemoryPlan, GraphsAreOutsideTheShareUnlessItPaysForThem) {
  // Two sequences: sizes 1, 2 and 4 for mixed steps, 1 and 2 for decode steps; one layer each. The
  // largest has 4 rows * 2 B * (2*8 + 3*16) = 512 B of buffers.
  MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2}, {.memory_utilization = 0.5}};
  const GpuSpec gpu = gpu_with(Bytes(2e9));
  const MemoryPlan outside = plan_memory(tiny_model(), {}, {}, gpu, limits);
  EXPECT_DOUBLE_EQ(outside.graphs.value(), 512.0 + 5 * 0.08 * 1048576.0);
  limits.graphs_in_share = true;
  const MemoryPlan inside = plan_memory(tiny_model(), {}, {}, gpu, limits);
  EXPECT_NEAR((outside.kv_budget - inside.kv_budget).value(), outside.graphs.value(), 1e-3);
}

TEST(MemoryPlan, VllmCapturesTheGraphsItLogs) {
  // "PIECEWISE=51 (largest=512), FULL=35 (largest=256)" of vLLM 0.19 with 256 sequences, and
  // "PIECEWISE=11 (largest=64), FULL=7 (largest=32)" with 32.
  const double one = 0.08 * 1048576.0;
  const GpuSpec gpu = gpu_with(Bytes(4e9));
  const auto graphs = [&](int sequences) {
    const MemoryLimits limits{{.sequences_max = sequences}, {}};
    const double buffers = std::min(2 * sequences, 512) * 2.0 * (2 * 8 + 3 * 16);
    return (plan_memory(tiny_model(), {}, {}, gpu, limits).graphs.value() - buffers) / one;
  };
  EXPECT_NEAR(graphs(256), 51 + 35, 1e-9);
  EXPECT_NEAR(graphs(32), 11 + 7, 1e-9);
}

TEST(MemoryPlan, RulesTakeTheirShareOfDifferentThings) {
  const GpuSpec gpu = gpu_with(Bytes(4e9));
  MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2}, {.memory_utilization = 0.75}};
  const auto budget = [&](MemoryRule rule) {
    limits.memory_rule = rule;
    return plan_memory(tiny_model(), {}, {}, gpu, limits).kv_budget.value();
  };
  EXPECT_NEAR(budget(MemoryRule::of_total), 3e9 - weights - activations - runtime, 1e-3);
  EXPECT_NEAR(budget(MemoryRule::static_fraction), 0.75 * (4e9 - context) - weights, 1e-3);
  // Its profile run does not sample; of activations the layer's 512 B are left.
  EXPECT_NEAR(budget(MemoryRule::of_free), 0.75 * (4e9 - context - weights - 512.0 - runtime),
              1e-3);
}

TEST(MemoryPlan, SglangStartsMoreCommunicators) {
  GpuSpec gpu = gpu_with(Bytes(8e9));
  ParallelLayout layout;
  const auto communication = [&](int ranks, MemoryRule rule) {
    layout.tensor = ranks;
    const MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2},
                              {.memory_rule = rule, .memory_utilization = 0.75}};
    return plan_memory(tiny_model(), layout, {}, gpu, limits).communication.value() / 1073741824.0;
  };
  gpu.nvlink_bandwidth = BytesPerSecond(450e9);
  EXPECT_EQ(communication(1, MemoryRule::static_fraction), 0.0);
  EXPECT_NEAR(communication(2, MemoryRule::static_fraction), 1.25, 1e-9);
  EXPECT_NEAR(communication(2, MemoryRule::of_total), 0.6, 1e-9);
  gpu.nvlink_bandwidth = BytesPerSecond(0.0);
  EXPECT_NEAR(communication(2, MemoryRule::static_fraction), 0.4, 1e-9);
}

TEST(MemoryPlan, PiecesMakeUpWhatTheGpuHas) {
  const GpuSpec gpu = gpu_with(Bytes(4e9));
  ParallelLayout two;
  two.tensor = 2;
  const MemoryPlan plan =
      plan_memory(tiny_model(), two, {}, gpu, {{}, {.memory_utilization = 0.7}});
  const Bytes sum = plan.driver + plan.context + plan.communication + plan.weights +
                    plan.activations + plan.runtime + plan.graphs + plan.unused +
                    static_cast<double>(plan.kv_blocks) * plan.kv_block;
  EXPECT_NEAR(sum.value(), plan.capacity.value(), 1.0);
  EXPECT_GT(plan.communication, Bytes(0.0));
  EXPECT_DOUBLE_EQ(plan.kv_block_all_ranks.value(), 2 * plan.kv_block.value());
}

std::string refusal(const GpuSpec& gpu, const MemoryLimits& limits) {
  const MemoryPlan plan = plan_memory(tiny_model(), {}, {}, gpu, limits);
  try {
    check_memory(plan, tiny_model(), {}, gpu, limits, {"a.toml", 2, 1}, {"a.toml", 7, 1});
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(MemoryPlan, SaysHowMuchIsMissing) {
  MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2}, {.memory_utilization = 0.1}};
  const GpuSpec gpu = gpu_with(Bytes(1e9));
  EXPECT_EQ(refusal(gpu, limits),
            "a.toml:2:1: tiny does not fit on toy: each GPU needs 11.1 KiB of weights, 2.06 KiB of "
            "activations and 154 MiB for runtime and communication, but memory_utilization = 0.1 "
            "of 954 MiB leaves 95.4 MiB; 58.2 MiB are missing. Raise tensor_parallel (now 1) or "
            "pipeline_parallel (now 1), choose a smaller dtype or a GPU with more memory");
  limits.memory_rule = MemoryRule::of_free;
  EXPECT_NE(refusal(gpu_with(Bytes(6e8)), limits).find("of 0 B free after loading leaves 0 B"),
            std::string::npos);
}

TEST(MemoryPlan, RefusesAShareThatIsNotFreeAtTheStart) {
  const MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2},
                            {.memory_utilization = 0.95}};
  EXPECT_EQ(refusal(gpu_with(Bytes(4 * gibibyte)), limits),
            "a.toml:7:1: memory_utilization = 0.95 asks for 3.8 GiB of 4 GiB, but once CUDA has "
            "started only 3.5 GiB are free; lower it to 0.87");
  EXPECT_EQ(refusal(gpu_with(Bytes(24 * gibibyte)), limits), "");
}

/// Of 2 layers of 8, MLPs of 16, 2 heads of 4; 2 x 2 patches a token, projected to 8.
MediaEncoder tiny_encoder() {
  MediaEncoder vision;
  vision.layers = 2;
  vision.hidden = 8;
  vision.intermediate = 16;
  vision.heads = 2;
  vision.head_dim = 4;
  vision.patch = 2;
  vision.merge = 2;
  vision.projector = {32, 8};
  return vision;
}

TEST(MemoryPlan, ImagesHaveACacheAndAStepOfTheirOwn) {
  Transformer model = tiny_model();
  model.vision = tiny_encoder();
  MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2}, {.memory_utilization = 0.5}};
  const GpuSpec gpu = gpu_with(Bytes(4e9));
  const MemoryPlan text = plan_memory(model, {}, {}, gpu, limits);
  EXPECT_EQ(text.encoder_cache.value(), 0);
  limits.encoder = {.step_tokens = 100, .cache_tokens = 300};
  const MemoryPlan images = plan_memory(model, {}, {}, gpu, limits);
  EXPECT_EQ(images.encoder_cache.value(), 300 * 8 * 2);
  // 400 patches * 2 B * (2 * 8 + max(4 * 8, 2 * 16)).
  EXPECT_EQ(images.activations.value(), 400 * 2 * 48);
  EXPECT_EQ(images.kv_budget,
            text.kv_budget - images.encoder_cache - (images.activations - text.activations));
}

// Parameters: 2 * (4*8*8 + 2*8*16 + 4*8 + 5*8 + 16) of layers, 12*8 + 8 of patches, 32*8.
TEST(MemoryPlan, AReplicaThatEncodesHoldsTheEncoderAlone) {
  Transformer model = tiny_model();
  model.vision = tiny_encoder();
  MemoryLimits limits{{.batch_tokens_max = 4, .sequences_max = 2}, {}};
  limits.encoder = {.step_tokens = 100, .cache_tokens = 300};
  const GpuSpec gpu = gpu_with(Bytes(4e9));
  const MemoryPlan plan = plan_encoder_memory(model, {}, {}, gpu, limits, {});
  EXPECT_EQ(plan.weights.value(), 2 * (2 * 600 + 104 + 256));
  EXPECT_EQ(plan.kv_block.value(), 0);
  EXPECT_GT(plan.unused.value(), 0);
  EXPECT_THROW(plan_encoder_memory(model, {}, {}, gpu_with(Bytes(6.9e8)), limits, {"a.toml", 3, 1}),
               ConfigError);
}

TEST(MemoryPlan, ExpertsKeepEveryTokensCopies) {
  Transformer model = tiny_model();
  model.moe = MoeConfig{.experts = 8, .topk = 4, .intermediate = 6, .shared_intermediate = 2};
  const MemoryLimits limits{{.batch_tokens_max = 1000, .sequences_max = 1}, {}};
  const GpuSpec gpu = gpu_with(Bytes(4e9));
  // 1,000 tokens * 2 B * (2*8 + 4 copies * (max(2*6, 8) + 6) + 3*2) = 188,000 B.
  EXPECT_DOUBLE_EQ(plan_memory(model, {}, {}, gpu, limits).activations.value(), 188'000.0);
  ParallelLayout cut;
  cut.tensor = 2;
  // Experts are cut to 3, the hidden state of the copies is not: 2*8 + 4 * (8 + 3) + 3*2/2 = 63.
  EXPECT_DOUBLE_EQ(plan_memory(model, cut, {}, gpu, limits).activations.value(), 126'000.0);
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

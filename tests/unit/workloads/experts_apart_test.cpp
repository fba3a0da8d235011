// Experts on GPUs of their own: the kernels of either side and what travels between, by hand.
#include "models/parallel_layout.hpp"
#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken::experts_apart_test {
namespace {

using testing::ElementsAre;

/// Mixtral 8x7B with a shared expert of width 1024.
Transformer moe_with_shared_expert() {
  Transformer made = model("mixtral-8x7b");
  made.moe->shared_intermediate = 1024;
  return made;
}

/// Two attention ranks of two GPUs; eight GPUs in four sets for eight experts.
const ParallelLayout layout = {
    .tensor = 2, .expert = 4, .data_parallel_attention = 2, .expert_gpus = 8};

TEST(ExpertsApart, TokensGoToTheExpertsAndBack) {
  BatchShape batch = batch_of_100();
  batch.stage_tokens = 160;
  batch.stage_tokens_max = 100;
  const KernelSequence sequence = generate(moe_with_shared_expert(), layout, {}, batch, 0);
  EXPECT_THAT(
      roles(sequence),
      ElementsAre("embedding x1", "embedding_all_reduce x1", "input_norm x1", "input_norm x31",
                  "qkv_proj x32", "rope x32", "kv_write x32", "attention x32", "o_proj x32",
                  "attention_all_reduce x32", "post_attention_norm x32", "shared_gate_up_proj x32",
                  "shared_activation x32", "shared_down_proj x32", "router x32", "topk_routing x32",
                  "expert_sum x32", "expert_dispatch x32", "experts x32", "expert_combine x32",
                  "moe_share_all_gather x32", "final_norm x1", "lm_head x1", "logits_all_gather x1",
                  "sampling x1"));
  // Two GPUs cut each expert, four sets hold two each; all 160 tokens meet there.
  const auto experts = kernel<FusedMoe>(sequence, "experts");
  EXPECT_EQ(experts.tokens, 160);
  EXPECT_EQ(experts.ep, 4);
  EXPECT_EQ(experts.tp, 2);
  // A token's top 2 of 8 visit 13/7 of four sets (generator_experts_test.cpp), both GPUs of each.
  // The busier group's GPUs send 50 tokens each.
  const auto dispatch = kernel<Collective>(sequence, "expert_dispatch");
  EXPECT_EQ(dispatch.op, CollectiveOp::send_recv);
  EXPECT_NEAR(dispatch.bytes, 50.0 * 26 / 7 * 4096 * 2, 1e-6);
  EXPECT_EQ(kernel<Collective>(sequence, "expert_combine").bytes, dispatch.bytes);
}

TEST(ExpertsApart, EachSideHasAStreamAndEachDirectionOfTheLinks) {
  const StageProgram program(moe_with_shared_expert(), layout, {}, 0);
  ASSERT_EQ(program.blocks().size(), 3U);
  EXPECT_THAT(program.blocks()[1].segments,
              ElementsAre(Stream::compute, Stream::to_experts, Stream::experts,
                          Stream::from_experts, Stream::compute));
  EXPECT_EQ(program.blocks()[1].repeats, 32);
}

// With one attention rank the router and the shared expert are whole as well, and what comes back
// is whole: no sum over tensor-parallel ranks.
TEST(ExpertsApart, OneAttentionRankWillDo) {
  const ParallelLayout one = {.tensor = 2, .expert = 8, .expert_gpus = 8};
  const KernelSequence sequence = generate(moe_with_shared_expert(), one, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Gemm>(sequence, "router"), (Gemm{50, 8, 4096}));
  EXPECT_FALSE(contains(sequence, "moe_all_reduce"));
  EXPECT_EQ(kernel<FusedMoe>(sequence, "experts").tokens, 100);
  // Two of eight single GPUs.
  EXPECT_NEAR(kernel<Collective>(sequence, "expert_dispatch").bytes, 50.0 * 2 * 4096 * 2, 1e-6);
}

// All experts' parameters are on their GPUs, and all others on attention's: together what one rank
// has that has everything.
TEST(ExpertsApart, WeightsAreOnOneSideOrTheOther) {
  for (const char* name : {"mixtral-8x7b", "deepseek-v3", "gpt-oss-120b", "qwen3-30b-a3b"}) {
    const Transformer whole = model(name);
    const WeightFormats formats(DType::bf16, DType::bf16);
    const ParallelLayout apart = {.expert = 4, .expert_gpus = 4};
    const Bytes experts = 4 * expert_bytes_per_gpu(whole, apart, formats);
    const Bytes attention = weight_bytes_per_rank(whole, apart, 0, formats);
    const Bytes all = weight_bytes_per_rank(whole, {}, 0, formats);
    EXPECT_NEAR((experts + attention) / all, 1.0, 1e-9) << name;
    EXPECT_GT(experts, 0.8 * all) << name;
  }
  // Mixtral 8x7B: 32 layers of 8 experts of 3 x 4096 x 14336 weights in 2 bytes, on 4 GPUs.
  EXPECT_NEAR(expert_bytes_per_gpu(model("mixtral-8x7b"), {.expert = 4, .expert_gpus = 4},
                                   WeightFormats(DType::bf16, DType::bf16))
                  .value(),
              32.0 * 8 * 3 * 4096 * 14336 * 2 / 4, 1);
}

std::string problems(const Transformer& model, const ParallelLayout& layout) {
  Diagnostics diagnostics;
  check_layout(model, layout, {"a.toml", 3, 1}, diagnostics);
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(ExpertsApart, LayoutsThatDoNotFitAreToldWhy) {
  const Transformer moe = model("mixtral-8x7b");
  EXPECT_EQ(problems(moe, layout), "");
  EXPECT_EQ(problems(model("llama-3.1-8b"), {.expert_gpus = 4}),
            "a.toml:3:1: expert_gpus = 4 needs routed experts, but there are none in llama-3.1-8b; "
            "omit it");
  EXPECT_EQ(problems(moe, {.pipeline = 2, .expert_gpus = 8}),
            "a.toml:3:1: expert_gpus = 8 cannot be combined with pipeline_parallel = 2: which "
            "stage's experts they would hold is not modelled; use 1");
  EXPECT_EQ(problems(moe, {.expert = 4, .expert_gpus = 6}),
            "a.toml:3:1: expert_parallel = 4 does not divide expert_gpus = 6, whose ranks hold the "
            "experts of mixtral-8x7b; use another expert_gpus");
}

}  // namespace
}  // namespace foretoken::experts_apart_test

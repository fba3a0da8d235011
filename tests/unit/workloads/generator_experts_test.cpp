// Latent attention, formats that mix, and attention ranks that share experts: one rank's kernels
// worked out by hand.
#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;

// One prompt of 97 tokens and 3 decodes; 128 heads on one rank.
TEST(Generate, LatentAttention) {
  const KernelSequence sequence =
      generate(model("deepseek-v3"), {}, {.dtype = DType::fp8_block}, batch_of_100(), 0);
  const auto expect = [&](std::string_view role, Gemm gemm) {
    EXPECT_EQ(kernel<Gemm>(sequence, role), gemm) << role;
  };
  expect("qkv_a_proj", {100, 2112, 7168, DType::fp8_block});
  expect("q_b_proj", {100, 24576, 1536, DType::fp8_block});
  expect("o_proj", {100, 7168, 16384, DType::fp8_block});
  expect("router", {100, 256, 7168, DType::bf16});
  EXPECT_EQ(kernel<RmsNorm>(sequence, "q_a_norm"), (RmsNorm{100, 1536}));
  EXPECT_EQ(kernel<RmsNorm>(sequence, "kv_a_norm"), (RmsNorm{100, 512}));
  EXPECT_EQ(kernel<Rope>(sequence, "rope"), (Rope{100, 129, 64}));
  EXPECT_EQ(kernel<KvWrite>(sequence, "kv_write"), (KvWrite{100, 1, 288}));
  // Only the decodes pass the up-projections head by head.
  EXPECT_EQ(kernel<BatchedGemm>(sequence, "q_absorb"), (BatchedGemm{128, 3, 512, 128}));
  EXPECT_EQ(kernel<BatchedGemm>(sequence, "v_up_proj"), (BatchedGemm{128, 3, 128, 512}));
  EXPECT_EQ(kernel<Mla>(sequence, "attention"),
            (Mla{.query_heads = 128, .load = batch_of_100().attention}));
  EXPECT_EQ(find(sequence, "gate_up_proj").calls, 3);
  EXPECT_EQ(find(sequence, "experts").calls, 58);
}

TEST(Generate, LatentAttentionWithoutDecodesAbsorbsNothing) {
  const BatchShape prompt{
      .tokens = 97, .logit_rows = 1, .attention = AttentionLoad::exact({{97, 97}})};
  EXPECT_FALSE(contains(generate(model("deepseek-v3"), {}, {}, prompt, 0), "q_absorb"));
}

TEST(Generate, ExpertsMayHaveAFormatOfTheirOwn) {
  const KernelSequence sequence =
      generate(model("gpt-oss-20b"), {}, {.expert_dtype = DType::mxfp4}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Gemm>(sequence, "qkv_proj").dtype, DType::bf16);
  EXPECT_EQ(kernel<FusedMoe>(sequence, "experts").dtype, DType::mxfp4);
}

TEST(Generate, EachPartOfTheWeightsHasItsFormat) {
  ExecutionSettings settings;
  WeightFormats formats(DType::fp8, DType::w4a16);
  formats.attention = DType::bf16;
  formats.shared = DType::int8;
  settings.set_formats(formats);
  EXPECT_EQ(settings.formats(), formats);
  const KernelSequence sequence = generate(model("deepseek-v3"), {}, settings, batch_of_100(), 0);
  EXPECT_EQ(kernel<Gemm>(sequence, "o_proj").dtype, DType::bf16);
  EXPECT_EQ(kernel<Gemm>(sequence, "qkv_a_proj").dtype, DType::bf16);
  EXPECT_EQ(kernel<Gemm>(sequence, "gate_up_proj").dtype, DType::fp8);
  EXPECT_EQ(kernel<Gemm>(sequence, "shared_down_proj").dtype, DType::int8);
  EXPECT_EQ(kernel<Gemm>(sequence, "router").dtype, DType::bf16);
  EXPECT_EQ(kernel<Gemm>(sequence, "lm_head").dtype, DType::bf16);
  EXPECT_EQ(kernel<FusedMoe>(sequence, "experts").dtype, DType::w4a16);
}

// Layers of kinds: heads, windows and MLPs of their own; values narrower than keys are priced as if
// both had the mean width, which has their operations and bytes.
TEST(Generate, KindsOfLayersHaveTheirOwnShapes) {
  Transformer mixed = model("llama-3.1-8b");
  mixed.layers = 4;
  LayerKind full{.name = "full", .attention = mixed.attention(0), .intermediate = 1024};
  LayerKind sliding = full;
  sliding.name = "sliding";
  sliding.attention = {
      .query_heads = 32, .kv_heads = 4, .head_dim = 192, .value_dim = 128, .window = 128};
  LayerKind skipped{.name = "skipped", .has_attention = false, .intermediate = 2048};
  mixed.kinds = {full, sliding, skipped};
  mixed.kind_pattern = {0, 1, 1, 2};
  const KernelSequence sequence = generate(mixed, {.tensor = 2}, {}, batch_of_100(), 0);
  std::vector<std::string> attentions, widths;
  for (const KernelCall& call : sequence) {
    if (const auto* attention = std::get_if<Attention>(&call.kernel)) {
      attentions.push_back(fmt::format("{}/{} of {}, window {} x{}", attention->query_heads,
                                       attention->kv_heads, attention->head_dim, attention->window,
                                       call.calls));
    }
    if (call.role == "gate_up_proj") {
      widths.push_back(fmt::format("{} x{}", std::get<Gemm>(call.kernel).n, call.calls));
    }
  }
  EXPECT_THAT(attentions, ElementsAre("16/4 of 128, window 0 x1", "16/2 of 160, window 128 x2"));
  EXPECT_THAT(widths, ElementsAre("1024 x1", "1024 x2", "2048 x1"));
  const auto qkv = std::ranges::find_if(
      sequence, [](const KernelCall& call) { return call.role == "qkv_proj" && call.calls == 2; });
  // 16 queries of 192, two keys of 192 and values of 128.
  EXPECT_EQ(std::get<Gemm>(qkv->kernel).n, 16 * 192 + 2 * (192 + 128));
}

// All-reduced: 160 tokens of both groups, nothing padded, and every rank has every sum. Decodes are
// gathered, padded to the fuller group's three.
TEST(Generate, PromptsAndDecodesMayReachExpertsInTwoWays) {
  const ParallelLayout layout{.tensor = 2, .expert = 4, .data_parallel_attention = 2};
  ExecutionSettings settings;
  settings.expert_exchange = {ExchangeMethod::all_reduce, ExchangeMethod::all_gather, 0, {}};
  const KernelSequence prompts = generate(small_moe(), layout, settings, batch_beside_60(), 0);
  for (const char* role : {"moe_gather_all_reduce", "moe_all_reduce"}) {
    EXPECT_EQ(kernel<Collective>(prompts, role).op, CollectiveOp::all_reduce);
    EXPECT_EQ(kernel<Collective>(prompts, role).bytes, 160.0 * 4096 * 2);
  }
  for (const char* role : {"moe_all_gather", "moe_reduce_scatter", "moe_share_all_gather"})
    EXPECT_FALSE(contains(prompts, role)) << role;
  const KernelSequence decodes = generate(small_moe(), layout, settings, three_decodes(), 0);
  EXPECT_EQ(kernel<Collective>(decodes, "moe_all_gather").bytes, 8.0 * 4096 * 2);
  EXPECT_EQ(kernel<Collective>(decodes, "moe_reduce_scatter").bytes, 8.0 * 4096 * 2);
  EXPECT_FALSE(contains(decodes, "moe_all_reduce"));
  EXPECT_EQ(find(decodes, "experts").calls, find(prompts, "experts").calls);
}

// Four bits and an fp8 scale for 16 values, where the engine quantises before it gathers.
TEST(Generate, QuantisedTokensTravelInTheirFormat) {
  const ParallelLayout layout{.expert = 4, .data_parallel_attention = 4};
  ExecutionSettings settings{.dtype = DType::nvfp4};
  settings.expert_exchange = {
      ExchangeMethod::all_gather, ExchangeMethod::all_gather, 0, {DType::nvfp4}};
  const KernelSequence sequence = generate(small_moe(), layout, settings, batch_beside_60(), 0);
  EXPECT_EQ(kernel<Collective>(sequence, "moe_all_gather").bytes, 400.0 * 4096 * 0.5625);
  EXPECT_EQ(kernel<Collective>(sequence, "moe_reduce_scatter").bytes, 400.0 * 4096 * 2);
}

TEST(Generate, DataParallelAttentionSendsTokensToTheExpertsAndBack) {
  const ParallelLayout layout{.tensor = 2, .expert = 4, .data_parallel_attention = 2};
  const KernelSequence sequence = generate(small_moe(), layout, {}, batch_beside_60(), 0);
  EXPECT_THAT(
      roles(sequence),
      ElementsAre("embedding x1", "embedding_all_reduce x1", "input_norm x1", "input_norm x31",
                  "qkv_proj x32", "rope x32", "kv_write x32", "attention x32", "o_proj x32",
                  "attention_all_reduce x32", "post_attention_norm x32", "shared_gate_up_proj x32",
                  "shared_activation x32", "shared_down_proj x32", "router x32", "topk_routing x32",
                  "expert_sum x32", "moe_dispatch x32", "experts x32", "moe_combine x32",
                  "moe_share_all_gather x32", "final_norm x1", "lm_head x1", "logits_all_gather x1",
                  "sampling x1"));
  // Attention: half the heads, all of the group's tokens. Router and shared expert: half of the
  // tokens, whole weights.
  EXPECT_EQ(kernel<Gemm>(sequence, "qkv_proj"), (Gemm{100, 3072, 4096}));
  EXPECT_EQ(kernel<Gemm>(sequence, "router"), (Gemm{50, 8, 4096}));
  EXPECT_EQ(kernel<Gemm>(sequence, "shared_gate_up_proj"), (Gemm{50, 2048, 4096}));
  EXPECT_EQ(kernel<SiluAndMul>(sequence, "shared_activation"), (SiluAndMul{50, 1024}));
  EXPECT_EQ(kernel<SiluAndMul>(sequence, "expert_sum"), (SiluAndMul{50, 4096}));
  const auto experts = kernel<FusedMoe>(sequence, "experts");
  EXPECT_EQ(experts.tokens, 160);
  EXPECT_EQ(experts.ep, 4);
  EXPECT_EQ(experts.tp, 1);
  // A token's top 2 of 8 miss a given pair with probability 6/8 x 5/7 = 15/28: it visits
  // 4 x 13/28 = 13/7 ranks. The busier group's ranks send 50 tokens each; each rank receives
  // 160 / 4 = 40 on average, and no more with balanced routing.
  const auto dispatch = kernel<Collective>(sequence, "moe_dispatch");
  EXPECT_EQ(dispatch.op, CollectiveOp::all_to_all);
  EXPECT_EQ(dispatch.group, CommGroup::expert_parallel);
  EXPECT_EQ(dispatch.ranks, 4);
  EXPECT_NEAR(dispatch.bytes, 50.0 * 13 / 7 * 4096 * 2, 1e-6);
  EXPECT_EQ(kernel<Collective>(sequence, "moe_combine").bytes, dispatch.bytes);
  EXPECT_EQ(kernel<Collective>(sequence, "moe_share_all_gather"),
            tensor_collective(CollectiveOp::all_gather, 2, 100.0 * 4096 * 2));
}

// Expert 0 takes everything: the rank that has it receives all 160 tokens' two assignments.
TEST(Generate, TheRankWithThePopularExpertsDecidesTheExchange) {
  const ParallelLayout layout{.expert = 4, .data_parallel_attention = 4};
  ExecutionSettings settings;
  settings.routing = {Routing::Kind::histogram, 0, {1, 0, 0, 0, 0, 0, 0, 0}};
  const KernelSequence sequence = generate(small_moe(), layout, settings, batch_beside_60(), 0);
  // 320 assignments where 320 / 4 would be even: four times the 40 that a rank receives on average.
  EXPECT_NEAR(kernel<Collective>(sequence, "moe_dispatch").bytes, 160.0 * 13 / 7 * 4096 * 2, 1e-6);
}

// Four ranks with a group of two experts each, one group a token: it visits one rank, not 13/7.
// Balanced by load, a group lies on all ranks, and any two experts may be on two.
TEST(Generate, TokensVisitTheRanksOfTheirGroups) {
  ParallelLayout layout{.expert = 4, .data_parallel_attention = 4};
  Transformer limited = small_moe();
  limited.moe->groups = {4, 1};
  const auto bytes = [&] {
    return kernel<Collective>(generate(limited, layout, {}, batch_beside_60(), 0), "moe_dispatch")
        .bytes;
  };
  EXPECT_NEAR(bytes(), 100.0 * 4096 * 2, 1e-6);
  layout.experts_by_load = true;
  EXPECT_NEAR(bytes(), 100.0 * 13 / 7 * 4096 * 2, 1e-6);
  ExecutionSettings deep_ep;
  deep_ep.expert_exchange = {ExchangeMethod::deepep_normal, ExchangeMethod::deepep_normal};
  layout.experts_by_load = false;
  EXPECT_EQ(
      kernel<Collective>(generate(limited, layout, deep_ep, batch_beside_60(), 0), "moe_dispatch")
          .experts.groups,
      (ExpertGroups{4, 1}));
}

TEST(Generate, BlockScaledTokensTravelInFp8) {
  const ParallelLayout layout{.expert = 4, .data_parallel_attention = 4};
  const KernelSequence sequence =
      generate(small_moe(), layout, {.dtype = DType::fp8_block}, batch_beside_60(), 0);
  const double rows = 100.0 * 13 / 7;
  EXPECT_NEAR(kernel<Collective>(sequence, "moe_dispatch").bytes, rows * 4096 * (1 + 4.0 / 128),
              1e-6);
  EXPECT_NEAR(kernel<Collective>(sequence, "moe_combine").bytes, rows * 4096 * 2, 1e-6);
}

TEST(Generate, AllGatherBringsAllTokensToAllRanks) {
  const ParallelLayout layout{.tensor = 2, .expert = 4, .data_parallel_attention = 2};
  ExecutionSettings settings;
  settings.expert_exchange = {ExchangeMethod::all_gather, ExchangeMethod::all_gather, 0, {}};
  const KernelSequence sequence = generate(small_moe(), layout, settings, batch_beside_60(), 0);
  EXPECT_FALSE(contains(sequence, "moe_dispatch"));
  // Four ranks with 50 tokens each, as the busier group has them.
  const auto gather = kernel<Collective>(sequence, "moe_all_gather");
  EXPECT_EQ(gather.op, CollectiveOp::all_gather);
  EXPECT_EQ(gather.bytes, 200.0 * 4096 * 2);
  EXPECT_EQ(kernel<Collective>(sequence, "moe_reduce_scatter").bytes, gather.bytes);
}

// SGLang gathers the 160 tokens of both groups before it routes them; shared
// experts are split by width, which costs what a rank's own fifty do. Behind DeepEP, and in other
// engines, each rank routes its own.
TEST(Generate, SglangRoutesWhatItHasGathered) {
  const ParallelLayout layout{.tensor = 2, .expert = 4, .data_parallel_attention = 2};
  ExecutionSettings settings;
  const auto routed_rows = [&](Framework engine, ExchangeMethod method) {
    settings.implementation.framework = engine;
    settings.expert_exchange = {method, method, 0, {}};
    const KernelSequence sequence = generate(small_moe(), layout, settings, batch_beside_60(), 0);
    const auto product_rows = [&](const char* role) {
      return std::get<Gemm>(find(sequence, role).kernel).m;
    };
    const std::int64_t rows = product_rows("router");
    EXPECT_EQ(kernel<TopKRouting>(sequence, "topk_routing").tokens, rows);
    EXPECT_EQ(kernel<SiluAndMul>(sequence, "expert_sum").tokens, rows);
    EXPECT_EQ(product_rows("shared_gate_up_proj"), 50);
    return rows;
  };
  EXPECT_EQ(routed_rows(Framework::sglang, ExchangeMethod::all_reduce), 160);
  EXPECT_EQ(routed_rows(Framework::sglang, ExchangeMethod::all_gather), 160);
  EXPECT_EQ(routed_rows(Framework::sglang, ExchangeMethod::deepep_normal), 50);
  EXPECT_EQ(routed_rows(Framework::vllm, ExchangeMethod::all_gather), 50);
}

TEST(StageProgram, LocalAndJointPartsAddUpToAll) {
  const StageProgram program(small_moe(), {.expert = 4, .data_parallel_attention = 4}, {}, 0);
  const BatchShape batch = batch_beside_60();
  const KernelSequence joint = program.kernels(batch, StagePart::joint);
  EXPECT_THAT(roles(joint), ElementsAre("moe_dispatch x32", "experts x32", "moe_combine x32"));
  EXPECT_EQ(program.kernels(batch, StagePart::local).size() + joint.size(),
            program.kernels(batch).size());
}

TEST(StageProgram, SegmentsFollowWhoComputesAndWhoCommunicates) {
  const StageProgram program(model("llama-3.1-8b"), {.tensor = 2}, {}, 0);
  constexpr Stream compute = Stream::compute, communication = Stream::communication;
  ASSERT_EQ(program.blocks().size(), 3U);
  EXPECT_THAT(program.blocks()[0].segments, ElementsAre(compute, communication));
  EXPECT_THAT(program.blocks()[1].segments,
              ElementsAre(compute, communication, compute, communication));
  EXPECT_EQ(program.blocks()[1].first_segment, 2);
  EXPECT_EQ(program.blocks()[1].repeats, 32);
  EXPECT_THAT(program.blocks()[2].segments, ElementsAre(compute, communication, compute));
  const KernelSequence sequence = program.kernels(batch_of_100());
  EXPECT_EQ(find(sequence, "attention").segment, 2);
  EXPECT_EQ(find(sequence, "attention_all_reduce").segment, 3);
  EXPECT_EQ(find(sequence, "lm_head").segment, 6);
}

}  // namespace
}  // namespace foretoken

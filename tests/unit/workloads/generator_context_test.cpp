// Ranks that share contexts: what they send each other around attention, worked out by hand.
#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken {
namespace {

Collective of_context(CollectiveOp op, int ranks, double bytes) {
  return {.op = op, .group = CommGroup::context_parallel, .ranks = ranks, .bytes = bytes};
}

// 16 of 128 heads a rank; the queries of all are (512 + 64) wide each, their results 512, their
// sums 4 B. Four sequences get a token. A context of 500 tokens is 63 on the ranks with most.
TEST(GenerateContext, LatentAttentionSharesDecodes) {
  const ParallelLayout layout{.tensor = 8, .decode_context = 8};
  const KernelSequence sequence = generate(model("deepseek-v3"), layout, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Collective>(sequence, "query_all_gather"),
            of_context(CollectiveOp::all_gather, 8, 4 * 128 * 576 * 2.0));
  EXPECT_EQ(kernel<Mla>(sequence, "attention_prompts"),
            (Mla{.query_heads = 16, .load = AttentionLoad::exact({{97, 97}})}));
  EXPECT_EQ(kernel<Mla>(sequence, "attention"),
            (Mla{.query_heads = 128, .load = AttentionLoad::exact({{1, 63}, {1, 75}, {1, 88}})}));
  EXPECT_EQ(kernel<Collective>(sequence, "softmax_all_gather"),
            of_context(CollectiveOp::all_gather, 8, 4 * 128 * 8 * 4.0));
  EXPECT_EQ(kernel<Collective>(sequence, "context_reduce_scatter"),
            of_context(CollectiveOp::reduce_scatter, 8, 4 * 128 * 512 * 2.0));
  EXPECT_EQ(kernel<BatchedGemm>(sequence, "q_absorb"), (BatchedGemm{16, 3, 512, 128}));
}

// 8 of 64 heads a rank and one of 4 KV heads, which two ranks have: 16 heads together, of 128.
TEST(GenerateContext, GroupedQueriesOfAllTokensTravel) {
  const ParallelLayout layout{.tensor = 8, .decode_context = 2};
  const KernelSequence sequence = generate(model("qwen3-235b-a22b"), layout, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Collective>(sequence, "query_all_gather"),
            of_context(CollectiveOp::all_gather, 2, 100 * 16 * 128 * 2.0));
  EXPECT_EQ(kernel<Attention>(sequence, "attention"),
            (Attention{.query_heads = 16,
                       .kv_heads = 1,
                       .head_dim = 128,
                       .load = AttentionLoad::exact({{1, 250}, {1, 300}, {1, 350}})}));
  EXPECT_EQ(kernel<Collective>(sequence, "context_reduce_scatter"),
            of_context(CollectiveOp::reduce_scatter, 2, 100 * 16 * 128 * 2.0));
}

TEST(GenerateContext, HelixSendsResultsAndSumsInOneExchange) {
  ExecutionSettings settings;
  settings.implementation.framework = Framework::trtllm;
  const ParallelLayout layout{.tensor = 8, .decode_context = 8};
  const KernelSequence sequence =
      generate(model("deepseek-v3"), layout, settings, batch_of_100(), 0);
  EXPECT_EQ(kernel<Collective>(sequence, "context_all_to_all"),
            of_context(CollectiveOp::all_to_all, 8, 4 * 128 * (512 * 2 + 4.0)));
  EXPECT_FALSE(contains(sequence, "softmax_all_gather"));
}

TEST(GenerateContext, WithoutDecodesOrPromptsTheirAttentionIsNotLaunched) {
  const ParallelLayout layout{.tensor = 8, .decode_context = 8};
  const BatchShape prompt{
      .tokens = 97, .logit_rows = 1, .attention = AttentionLoad::exact({{97, 97}})};
  const BatchShape decode{
      .tokens = 1, .logit_rows = 1, .attention = AttentionLoad::exact({{1, 97}})};
  const Transformer deepseek = model("deepseek-v3");
  EXPECT_FALSE(contains(generate(deepseek, layout, {}, prompt, 0), "attention"));
  EXPECT_FALSE(contains(generate(deepseek, layout, {}, decode, 0), "attention_prompts"));
}

// 97 tokens in two halves of 25 and 25 (a quarter each, rounded up) with the three decodes; keys
// and values of what gets no token, 49 on each of two: one of 8 KV heads of 128 on each of 8 ranks.
TEST(GenerateContext, GroupsShareThePromptsAndGatherTheirKeys) {
  const ParallelLayout layout{.tensor = 8, .prefill_context = 2};
  EXPECT_EQ(layout.ranks(), 16);
  const KernelSequence sequence = generate(model("llama-3.1-70b"), layout, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Gemm>(sequence, "qkv_proj").m, 53);
  EXPECT_EQ(kernel<Attention>(sequence, "attention").load,
            AttentionLoad::exact({{25, 25}, {25, 97}, {1, 500}, {1, 600}, {1, 700}}));
  EXPECT_EQ(kernel<Collective>(sequence, "prompt_kv_all_gather"),
            (Collective{.op = CollectiveOp::all_gather,
                        .group = CommGroup::prompt_parallel,
                        .ranks = 2,
                        .bytes = 2 * 49 * 2 * 128 * 2.0}));
}

// Of a prompt that divides, every share sees as many keys.
TEST(ContextParts, SharesOfPromptsSeeAsManyKeys) {
  const AttentionLoad list = AttentionLoad::exact({{64, 640}, {32, 32}, {1, 800}});
  AttentionLoad sums = list;
  sums.sequences.clear();
  for (const int parts : {2, 4}) {
    const AttentionLoad share = list.share_of_prompts(parts);
    EXPECT_DOUBLE_EQ(share.prefill.causal_pairs, list.prefill.causal_pairs / parts);
    EXPECT_EQ(share.prefill, sums.share_of_prompts(parts).prefill);
    EXPECT_EQ(share.decode, list.decode);
  }
}

// Sums and lists are shared out alike.
TEST(ContextParts, SumsAndListsAgree) {
  const AttentionLoad list = AttentionLoad::exact({{64, 640}, {1, 800}, {1, 1600}});
  AttentionLoad sums = list;
  sums.sequences.clear();
  const AttentionLoad listed = list.of(LoadPart::decode, 8), summed = sums.of(LoadPart::decode, 8);
  EXPECT_EQ(listed.decode, summed.decode);
  EXPECT_EQ(listed.decode.context_tokens, 300);
  EXPECT_EQ(listed.prefill, LoadSums());
  EXPECT_EQ(list.of(LoadPart::prefill).prefill, list.prefill);
  EXPECT_EQ(list.of(LoadPart::decode, 10'000).decode.context_tokens, 2);
}

}  // namespace
}  // namespace foretoken

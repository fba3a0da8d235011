// Norms over all heads together, whose width the ranks share: what each engine exchanges for them.
#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken {
namespace {

Collective among_four(CollectiveOp op, double bytes) {
  return {.op = op, .ranks = 4, .bytes = bytes};
}

// 48 query and 8 key heads of 128 on four ranks: 1,536 and 256 a rank, which each norms by itself
// once two sums of squares a token, in fp32, are added up.
TEST(GenerateNorms, MiniMaxAddsUpSquares) {
  const ParallelLayout layout{.tensor = 4};
  const KernelSequence sequence = generate(model("minimax-m2.5"), layout, {}, batch_of_100(), 0);
  EXPECT_EQ(kernel<Collective>(sequence, "qk_norm_all_reduce"),
            among_four(CollectiveOp::all_reduce, 100 * 2 * 4.0));
  EXPECT_FALSE(contains(sequence, "qk_norm_all_gather"));
  EXPECT_EQ(kernel<RmsNorm>(sequence, "q_squares").dim, 1536);
  EXPECT_EQ(kernel<RmsNorm>(sequence, "k_squares").dim, 256);
  EXPECT_EQ(kernel<RmsNorm>(sequence, "q_norm").dim, 1536);
  EXPECT_EQ(kernel<RmsNorm>(sequence, "k_norm").dim, 256);
}

TEST(GenerateNorms, OneRankHasAllHeads) {
  const KernelSequence sequence = generate(model("minimax-m2.5"), {}, {}, batch_of_100(), 0);
  EXPECT_FALSE(contains(sequence, "q_squares"));
  EXPECT_FALSE(contains(sequence, "qk_norm_all_reduce"));
  EXPECT_EQ(kernel<RmsNorm>(sequence, "q_norm").dim, 6144);
}

TEST(GenerateNorms, TensorrtLlmGathersHeads) {
  ExecutionSettings settings;
  settings.implementation.framework = Framework::trtllm;
  const ParallelLayout layout{.tensor = 4};
  const KernelSequence sequence =
      generate(model("minimax-m2.5"), layout, settings, batch_of_100(), 0);
  EXPECT_EQ(kernel<Collective>(sequence, "qk_norm_all_gather"),
            among_four(CollectiveOp::all_gather, 100 * 48 * 128 * 2.0));
  EXPECT_FALSE(contains(sequence, "qk_norm_all_reduce"));
  EXPECT_EQ(kernel<RmsNorm>(sequence, "q_norm").dim, 48 * 128);
}

// OLMoE's heads are gathered by every engine.
TEST(GenerateNorms, OlmoeGathersHeads) {
  const ParallelLayout layout{.tensor = 4};
  const KernelSequence sequence = generate(model("olmoe-1b-7b"), layout, {}, batch_of_100(), 0);
  EXPECT_TRUE(contains(sequence, "qk_norm_all_gather"));
  EXPECT_EQ(kernel<RmsNorm>(sequence, "k_norm").dim, 16 * 128);
}

}  // namespace
}  // namespace foretoken

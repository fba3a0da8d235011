// Steps of short prompts under SGLang, which attend densely where a model has sparse attention.
#include "tests/unit/workloads/generator_fixture.hpp"

namespace foretoken::dense_prompts_test {
namespace {

class DensePrompts : public testing::Test {
 protected:
  [[nodiscard]] KernelSequence step(std::vector<SequenceSlice> slices,
                                    const ParallelLayout& layout = {.tensor = 8}) const {
    BatchShape batch{.logit_rows = 1, .attention = AttentionLoad::exact(std::move(slices))};
    batch.tokens = batch.attention.query_tokens();
    ExecutionSettings settings;
    settings.implementation.framework = framework_;
    return generate(model_, layout, settings, batch, 0);
  }
  [[nodiscard]] bool is_dense(std::vector<SequenceSlice> slices,
                              const ParallelLayout& layout = {.tensor = 8}) const {
    const KernelSequence sequence = step(std::move(slices), layout);
    const bool has_dense = contains(sequence, "dense_attention");
    for (const char* role : {"kv_b_proj", "index_k_rotate"})
      EXPECT_EQ(contains(sequence, role), has_dense) << role;
    for (const char* role :
         {"attention", "key_indexer", "q_absorb", "v_up_proj", "index_q_proj", "index_q_rotate"}) {
      EXPECT_NE(contains(sequence, role), has_dense) << role;
    }
    for (const char* role : {"index_k_proj", "index_k_norm", "kv_write", "rope", "o_proj"})
      EXPECT_TRUE(contains(sequence, role)) << role;
    return has_dense;
  }

  Transformer model_ = model("deepseek-v3.2");  // picks 2,048 keys
  Framework framework_ = Framework::sglang;
};

TEST_F(DensePrompts, WhileTheirContextsFitWhatAnIndexPicks) {
  EXPECT_TRUE(is_dense({{2048, 2048}, {5, 300}}));
  EXPECT_TRUE(is_dense({{1024, 2048}}));
  EXPECT_FALSE(is_dense({{2049, 2049}}));
  EXPECT_FALSE(is_dense({{100, 100}, {64, 2049}}));
  EXPECT_FALSE(is_dense({{1024, 1024}, {1, 500}})) << "beside a decode";
  EXPECT_FALSE(is_dense({{1, 500}}));
}

TEST_F(DensePrompts, WhileTheWorkspaceHoldsAllContexts) {
  const std::vector<SequenceSlice> full(64, {16, 2048});  // 131,072 tokens
  EXPECT_TRUE(is_dense(full));
  std::vector<SequenceSlice> more = full;
  more.push_back({16, 16});
  EXPECT_FALSE(is_dense(more));
}

TEST_F(DensePrompts, UnderSglangWithWholePromptsAlone) {
  EXPECT_FALSE(is_dense({{1024, 1024}}, {.tensor = 4, .prefill_context = 2}));
  framework_ = Framework::vllm;
  EXPECT_FALSE(is_dense({{1024, 1024}}));
  framework_ = Framework::trtllm;
  EXPECT_FALSE(contains(step({{1024, 1024}}), "dense_attention"));
}

// 128 heads on 8 ranks, keys of 128 and values of 128 beside the rotary part.
TEST_F(DensePrompts, ExpandWhatIsCachedToo) {
  const KernelSequence sequence = step({{1024, 2048}, {10, 10}});
  const auto& product = std::get<Gemm>(find(sequence, "kv_b_proj").kernel);
  EXPECT_EQ(product.m, 2058);
  EXPECT_EQ(product.n, 16 * 256);
  EXPECT_EQ(product.k, 512);
  const auto& attention = std::get<Mla>(find(sequence, "dense_attention").kernel);
  EXPECT_TRUE(attention.expands_cached);
  EXPECT_EQ(attention.query_heads, 16);
  EXPECT_EQ(attention.load.prefill.query_tokens, 1034);
}

TEST_F(DensePrompts, HaveTheModelsOwnHeads) {
  model_ = model("glm-5");
  const auto attention = std::get<Mla>(find(step({{100, 100}}), "dense_attention").kernel);
  EXPECT_EQ(attention.nope_dim, 192);
  EXPECT_EQ(attention.value_dim, 256);
}

}  // namespace
}  // namespace foretoken::dense_prompts_test

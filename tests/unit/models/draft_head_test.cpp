// Draft heads and multi-token prediction modules: what they consist of, and that they are as large
// as what was published.
#include <gmock/gmock.h>

#include <cmath>

#include "models/operator_graph.hpp"
#include "models/parallel_layout.hpp"
#include "sim/base/toml.hpp"

namespace foretoken::draft_head_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string_view> roles(const OperatorGraph& graph) {
  std::vector<std::string_view> names;
  for (const Operator& op : graph) names.push_back(op.role);
  return names;
}

TEST(DraftHeads, HaveStableNames) {
  EXPECT_THAT(draft_head_names(), ElementsAre("eagle-llama-3-70b", "eagle-llama-3-8b",
                                              "eagle3-llama-3.1-70b", "eagle3-llama-3.1-8b"));
  for (const std::string& name : draft_head_names()) {
    const Transformer head = load_model(name, {});
    EXPECT_EQ(head.name, name);
    ASSERT_TRUE(head.draft_head.has_value()) << name;
    EXPECT_EQ(read_model(parse_toml(model_toml(head), name)), head) << name;
  }
}

TEST(DraftHeads, LaunchWhatVllmLaunches) {
  EXPECT_THAT(roles(layer_graph(load_model("eagle-llama-3-8b", {}), 0)),
              ElementsAre("draft_fc", "qkv_proj", "rope", "kv_write", "attention", "o_proj",
                          "post_attention_norm", "gate_up_proj", "activation", "down_proj"));
  EXPECT_THAT(roles(output_graph(load_model("eagle-llama-3-8b", {}))),
              ElementsAre("lm_head", "sampling"));
  const Transformer eagle3 = load_model("eagle3-llama-3.1-8b", {});
  EXPECT_THAT(roles(layer_graph(eagle3, 0)),
              ElementsAre("draft_fc", "hidden_norm", "input_norm", "qkv_proj", "rope", "kv_write",
                          "attention", "o_proj", "post_attention_norm", "gate_up_proj",
                          "activation", "down_proj"));
  EXPECT_THAT(roles(output_graph(eagle3)), ElementsAre("final_norm", "lm_head", "sampling"));
  // Behind the first pass the head goes on from its own hidden state.
  Transformer following = eagle3;
  following.draft_head->target_layers = 0;
  EXPECT_EQ(roles(layer_graph(following, 0)).front(), "hidden_norm");
  EXPECT_THAT(roles(layer_graph(mtp_module(load_model("glm-4.5", {})), 0)),
              ElementsAre("embedding_norm", "hidden_norm", "eh_proj", "input_norm", "qkv_proj",
                          "qk_norm", "rope", "kv_write", "attention", "o_proj",
                          "post_attention_norm", "shared_gate_up_proj", "shared_activation",
                          "shared_down_proj", "router", "topk_routing", "expert_sum", "experts"));
}

// EAGLE for 70B: fc 2 x 8192^2 = 134,217,728; QKV 8192 x (64 + 2 x 8) x 128 = 83,886,080; output
// 8192^2 = 67,108,864; MLP 3 x 8192 x 28672 = 704,643,072; one norm 8,192: the "0.99B" of its
// authors' table. For 8B: 33,554,432 + 25,165,824 + 16,777,216 + 176,160,768 + 4,096: "0.25B".
TEST(DraftHeads, EagleIsAsLargeAsItsAuthorsSay) {
  EXPECT_EQ(parameter_count(load_model("eagle-llama-3-70b", {})), 989'863'936);
  EXPECT_EQ(parameter_count(load_model("eagle-llama-3-8b", {})), 251'662'336);
}

// fc 3 x 4096^2 = 50,331,648; QKV twice as wide 50,331,648; output 16,777,216; MLP 176,160,768; LM
// head 32,000 x 4096 = 131,072,000; four norms 16,384.
TEST(DraftHeads, Eagle3HasAnLmHeadOfItsOwn) {
  EXPECT_EQ(parameter_count(load_model("eagle3-llama-3.1-8b", {})), 424'689'664);
}

// The checkpoints hold the module with copies of embedding and LM head: GLM 4.5 has
// 358,337,791,296 parameters in all, GLM 4.5 Air 110,468,824,832.
TEST(MtpModule, MakesUpTheRestOfTheCheckpoint) {
  const auto checkpoint = [](const char* name) {
    const Transformer model = load_model(name, {});
    return parameter_count(model) + parameter_count(mtp_module(model)) +
           2 * model.vocabulary * model.hidden;
  };
  EXPECT_EQ(checkpoint("glm-4.5"), 358'337'791'296);
  EXPECT_EQ(checkpoint("glm-4.5-air"), 110'468'824'832);
}

// DeepSeek's README_WEIGHTS: 11.5B unique parameters beside embedding and LM head.
TEST(MtpModule, OfDeepseekHasElevenBillionParameters) {
  const Transformer module = mtp_module(load_model("deepseek-v3", {}));
  EXPECT_NEAR(static_cast<double>(parameter_count(module)) / 1e9, 11.55, 0.1);
  EXPECT_TRUE(module.is_moe_layer(0));
  EXPECT_EQ(module.layers, 1);
}

TEST(MtpModule, IsNoneWhereNoneWasReleased) {
  EXPECT_THROW((void)mtp_module(load_model("llama-3.1-8b", {})), InternalError);
}

// Column and row weights are cut, the projection in front and norms are whole on every rank.
TEST(DraftHeads, AreCutLikeLayers) {
  const Transformer head = load_model("eagle3-llama-3.1-8b", {});
  const double whole = weight_bytes_per_rank(head, {}, 0, DType::bf16).value() / 2;
  EXPECT_EQ(whole, 424'689'664.0);
  const double half = weight_bytes_per_rank(head, {.tensor = 2}, 0, DType::bf16).value() / 2;
  const double replicated = 50'331'648.0 + 16'384.0;
  EXPECT_EQ(2 * half, whole + replicated);
}

std::string mistake(const std::string& head_table) {
  const std::string text = R"(name = "head"
layers = 1
hidden = 64
intermediate = 128
query_heads = 4
kv_heads = 2
head_dim = 16
vocabulary = 1000
context_max = 100
[draft_head]
)" + head_table;
  try {
    (void)read_model(parse_toml(text, "head.toml"));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(DraftHeads, MistakesAreTold) {
  EXPECT_EQ(mistake("kind = \"eagle\""), "no error");
  EXPECT_THAT(mistake("kind = \"eagel\""), HasSubstr("did you mean 'eagle'?"));
  EXPECT_THAT(mistake(""), HasSubstr("kind"));
  EXPECT_THAT(mistake("kind = \"eagle\"\ntarget_vocabulary = 2000"),
              HasSubstr("must be the head's vocabulary, since it uses the target's LM head"));
  EXPECT_THAT(mistake("kind = \"mtp\"\ntarget_layers = 3"),
              HasSubstr("is for kind = \"eagle3\"; other heads see one hidden state"));
}

}  // namespace
}  // namespace foretoken::draft_head_test

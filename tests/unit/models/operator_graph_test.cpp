// Operator graphs: what a layer consists of, in which order it is launched, and what it adds up to.
#include "models/operator_graph.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "models/graph_builder.hpp"
#include "models/sequence_memory.hpp"

namespace foretoken::operator_graph_test {
namespace {

using testing::ElementsAre;

std::vector<std::string_view> roles(const OperatorGraph& graph) {
  std::vector<std::string_view> names;
  for (const Operator& op : graph) names.push_back(op.role);
  return names;
}

const Operator& find(const std::vector<Operator>& operators, std::string_view role) {
  const auto found = std::ranges::find(operators, role, &Operator::role);
  FORETOKEN_CHECK(found != operators.end(), "no operator '{}'", role);
  return *found;
}

/// A MoE model with a dense first layer, a shared expert and windows on every other layer.
Transformer mixed_model() {
  Transformer model;
  model.name = "mixed";
  model.layers = 4;
  model.hidden = 64;
  model.intermediate = 128;
  model.query_heads = 4;
  model.kv_heads = 2;
  model.head_dim = 16;
  model.vocabulary = 640;
  model.qkv_bias = true;
  model.output_bias = true;
  model.moe = MoeConfig{
      .experts = 8, .topk = 2, .intermediate = 32, .shared_intermediate = 48, .dense_layers = 1};
  model.window_pattern = {256, 0};
  return model;
}

TEST(LayerGraph, DenseLayerInLaunchOrder) {
  EXPECT_THAT(roles(layer_graph(load_model("llama-3.1-8b", {}), 5)),
              ElementsAre("input_norm", "qkv_proj", "rope", "kv_write", "attention", "o_proj",
                          "post_attention_norm", "gate_up_proj", "activation", "down_proj"));
}

TEST(LayerGraph, MoeLayerInLaunchOrder) {
  EXPECT_THAT(roles(layer_graph(load_model("qwen3-30b-a3b", {}), 5)),
              ElementsAre("input_norm", "qkv_proj", "qk_norm", "rope", "kv_write", "attention",
                          "o_proj", "post_attention_norm", "router", "topk_routing", "experts"));
}

TEST(LayerGraph, LatentAttentionInLaunchOrder) {
  const OperatorGraph graph = layer_graph(load_model("deepseek-v3", {}), 5);
  EXPECT_THAT(roles(graph),
              ElementsAre("input_norm", "qkv_a_proj", "q_a_norm", "q_b_proj", "kv_a_norm", "rope",
                          "kv_write", "q_absorb", "attention", "v_up_proj", "o_proj",
                          "post_attention_norm", "shared_gate_up_proj", "shared_activation",
                          "shared_down_proj", "router", "topk_routing", "expert_sum", "experts"));
  const auto operators = graph;
  EXPECT_EQ(find(operators, "qkv_a_proj").out_features, 1536 + 512 + 64);
  EXPECT_EQ(find(operators, "qkv_a_proj").shard, Shard::replicated);
  EXPECT_EQ(find(operators, "qkv_a_proj").part, WeightPart::attention);
  EXPECT_EQ(find(operators, "router").part, WeightPart::plain);
  EXPECT_EQ(find(operators, "q_b_proj").out_features, 128 * 192);
  EXPECT_EQ(find(operators, "q_absorb").parameters, 128 * 128 * 512);
  EXPECT_EQ(find(operators, "o_proj").in_features, 128 * 128);
}

TEST(LayerGraph, QueriesWithoutLatentAreProjectedDirectly) {
  EXPECT_THAT(roles(layer_graph(load_model("deepseek-v2-lite", {}), 0)),
              ElementsAre("input_norm", "q_proj", "kv_a_proj", "kv_a_norm", "rope", "kv_write",
                          "q_absorb", "attention", "v_up_proj", "o_proj", "post_attention_norm",
                          "gate_up_proj", "activation", "down_proj"));
}

TEST(LayerGraph, GemmaNormsBehindAttentionAndMlpToo) {
  const OperatorGraph graph = layer_graph(load_model("gemma-3-12b", {}), 5);
  EXPECT_THAT(roles(graph),
              ElementsAre("input_norm", "qkv_proj", "qk_norm", "rope", "kv_write", "attention",
                          "o_proj", "post_attention_norm", "pre_mlp_norm", "gate_up_proj",
                          "activation", "down_proj", "post_mlp_norm"));
  const auto operators = graph;
  EXPECT_FALSE(find(operators, "post_attention_norm").fused_add);
  EXPECT_TRUE(find(operators, "pre_mlp_norm").fused_add);
  EXPECT_EQ(find(operators, "attention").attention.window, 0);
  const auto local = layer_graph(load_model("gemma-3-12b", {}), 4);
  EXPECT_EQ(find(local, "attention").attention.window, 1024);
}

TEST(KvBytes, LatentAttentionCachesOneLatentAndOneRotaryKey) {
  // 61 layers x (512 + 64) x 2 B
  EXPECT_EQ(kv_bytes_per_token(load_model("deepseek-v3", {}), DType::bf16), Bytes(70'272));
}

TEST(LayerGraph, NormOverAllHeadsIsTwoNorms) {
  const auto operators = layer_graph(load_model("olmoe-1b-7b", {}), 0);
  EXPECT_EQ(find(operators, "q_norm").in_features, 16 * 128);
  EXPECT_EQ(find(operators, "k_norm").in_features, 16 * 128);
  EXPECT_TRUE(find(operators, "k_norm").heads);
}

TEST(LayerGraph, SharedExpertRunsFirstAndIsReducedWithTheRoutedOnes) {
  const OperatorGraph graph = layer_graph(mixed_model(), 1);
  EXPECT_THAT(roles(graph),
              ElementsAre("input_norm", "qkv_proj", "rope", "kv_write", "attention", "o_proj",
                          "post_attention_norm", "shared_gate_up_proj", "shared_activation",
                          "shared_down_proj", "router", "topk_routing", "expert_sum", "experts"));
  const auto operators = graph;
  EXPECT_EQ(find(operators, "shared_down_proj").all_reduce, "");
  EXPECT_EQ(find(operators, "experts").all_reduce, "moe_all_reduce");
}

TEST(LayerGraph, LeadingLayersStayDenseAndWindowsAlternate) {
  const auto first = layer_graph(mixed_model(), 0);
  const auto second = layer_graph(mixed_model(), 1);
  EXPECT_EQ(find(first, "gate_up_proj").out_features, 256);
  EXPECT_EQ(find(first, "attention").attention.window, 256);
  EXPECT_EQ(find(second, "attention").attention.window, 0);
}

TEST(LayerGraph, OnlyTheVeryFirstNormHasNoResidual) {
  const Transformer model = mixed_model();
  EXPECT_FALSE(find(layer_graph(model, 0), "input_norm").fused_add);
  EXPECT_TRUE(find(layer_graph(model, 0), "post_attention_norm").fused_add);
  EXPECT_TRUE(find(layer_graph(model, 1), "input_norm").fused_add);
}

TEST(LayerGraph, OutputsOfTheModel) {
  EXPECT_THAT(roles(input_graph(mixed_model())), ElementsAre("embedding"));
  EXPECT_THAT(roles(output_graph(mixed_model())), ElementsAre("final_norm", "lm_head", "sampling"));
}

TEST(GraphBuilder, ReadsOnlyWhatIsLaunchedBefore) {
  GraphBuilder graph;
  const Vertex first = graph.add({.role = "first"});
  EXPECT_EQ(graph.add({.role = "second"}, {first}), 1U);
  EXPECT_THROW(graph.add({.role = "third"}, {first, 2}), InternalError);
  EXPECT_THAT(roles(graph.take()), ElementsAre("first", "second"));
}

TEST(GraphBuilder, EveryLayerOfEveryModelIsInOrder) {
  for (const std::string& name : model_names()) {
    const Transformer model = load_model(name, {});
    for (int layer = 0; layer < model.layers; ++layer)
      EXPECT_FALSE(layer_graph(model, layer).empty());
  }
}

// Layer 0 (dense):  norms 2 x 64 = 128; qkv 64 x (4 + 2 + 2) x 16 + bias 128 = 8,320;
//                   o 64 x 64 + bias 64 = 4,160; MLP 3 x 64 x 128 = 24,576     sum 37,184
// Layers 1 to 3:    norms, qkv and o 12,608; shared 3 x 64 x 48 = 9,216; router 64 x 8 = 512;
//                   experts 8 x 3 x 64 x 32 = 49,152                           sum 71,488 each
// Outside:          embedding and LM head 2 x 640 x 64 = 81,920; norm 64       sum 81,984
TEST(ParameterCount, ByHand) {
  EXPECT_EQ(parameter_count(mixed_model()), 37'184 + 3 * 71'488 + 81'984);
  // 6 of the 8 experts of three layers stay idle: 3 x 6 x 3 x 64 x 32 = 110,592.
  EXPECT_EQ(active_parameter_count(mixed_model()), parameter_count(mixed_model()) - 110'592);
}

TEST(ParameterCount, TiedEmbeddingsCountOnce) {
  Transformer model = mixed_model();
  const std::int64_t untied = parameter_count(model);
  model.tied_embeddings = true;
  EXPECT_EQ(parameter_count(model), untied - 640 * 64);
}

// Published: Mixtral 8x7B "12.9B active", 8x22B "39B", Qwen3 "3.3B" and "22B", OLMoE "1.3B".
TEST(ParameterCount, ActiveParametersOfThePublishedMoes) {
  const auto active = [](const std::string& name) {
    return active_parameter_count(load_model(name, {}));
  };
  // 46,702,792,704 less 6 of 8 experts: 32 x 6 x 3 x 4096 x 14336 = 33,822,867,456.
  EXPECT_EQ(active("mixtral-8x7b"), 12'879'925'248);
  // 30,532,122,624 less 120 of 128 experts: 48 x 120 x 3 x 2048 x 768 = 27,179,089,920.
  EXPECT_EQ(active("qwen3-30b-a3b"), 3'353'032'704);
  EXPECT_NEAR(static_cast<double>(active("mixtral-8x22b")), 39e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(active("qwen3-235b-a22b")), 22e9, 0.5e9);
  EXPECT_NEAR(static_cast<double>(active("olmoe-1b-7b")), 1.3e9, 0.05e9);
}

TEST(ParameterCount, DenseModelsAreAllActive) {
  const Transformer model = load_model("qwen3-0.6b", {});
  EXPECT_EQ(active_parameter_count(model), parameter_count(model));
}

TEST(KvBytes, ByHand) {
  // 2 (K, V) x 32 layers x 8 heads x 128 x 2 B
  EXPECT_EQ(kv_bytes_per_token(load_model("llama-3.1-8b", {}), DType::bf16), Bytes(131'072));
  EXPECT_EQ(kv_bytes_per_token(load_model("llama-3.1-8b", {}), DType::fp8), Bytes(65'536));
  // 2 x 32 x 32 x 128 x 2: no grouped queries
  EXPECT_EQ(kv_bytes_per_token(load_model("llama-2-7b", {}), DType::bf16), Bytes(524'288));
  // 2 x 48 x 4 x 128 x 2
  EXPECT_EQ(kv_bytes_per_token(load_model("qwen3-30b-a3b", {}), DType::bf16), Bytes(98'304));
}

}  // namespace
}  // namespace foretoken::operator_graph_test

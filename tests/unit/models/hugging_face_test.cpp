// config.json files of each architecture, shortened to the keys that matter, against the specs.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "models/transformer.hpp"
#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::hugging_face_test {
namespace {

Value config(std::string_view text) { return parse_json(text, {"config.json"}); }

/// `config` with some members set, each a {"key": value} of `changes`.
Value changed(Value base, std::string_view changes) {
  const Value members = config(changes);
  for (const auto& [key, value] : std::get<ValueObject>(members.data)) base.set(key, value);
  return base;
}

std::vector<std::string> mistakes(const Value& value) {
  std::vector<std::string> found;
  try {
    import_hugging_face(value, "imported");
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) found.push_back(diagnostic.message);
  }
  return found;
}

/// The spec `name` as an import looks: nobody published its size under this name.
Transformer spec(const std::string& name) {
  Transformer model = load_model(name, {});
  model.parameters_published = 0;
  model.title = model.name;
  return model;
}

Value llama() {
  return config(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
    "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
    "max_position_embeddings": 131072, "mlp_bias": false, "num_attention_heads": 32,
    "num_hidden_layers": 32, "num_key_value_heads": 8, "rope_theta": 500000.0,
    "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 128256})");
}

Value qwen3_moe() {
  return config(R"({"architectures": ["Qwen3MoeForCausalLM"], "decoder_sparse_step": 1,
    "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144,
    "max_position_embeddings": 40960, "max_window_layers": 48, "mlp_only_layers": [],
    "moe_intermediate_size": 768, "num_attention_heads": 32, "num_experts": 128,
    "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4,
    "sliding_window": null, "tie_word_embeddings": false, "use_sliding_window": false,
    "vocab_size": 151936})");
}

TEST(HuggingFace, Llama) {
  EXPECT_EQ(import_hugging_face(llama(), "llama-3.1-8b"), spec("llama-3.1-8b"));
}

Value deepseek_v3() {
  return config(R"({"architectures": ["DeepseekV3ForCausalLM"], "first_k_dense_replace": 3,
    "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
    "max_position_embeddings": 163840, "moe_intermediate_size": 2048, "moe_layer_freq": 1,
    "n_group": 8, "topk_group": 4, "topk_method": "noaux_tc", "n_routed_experts": 256, "n_shared_experts": 1, "num_attention_heads": 128,
    "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
    "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "tie_word_embeddings": false, "v_head_dim": 128, "vocab_size": 129280,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}})");
}

TEST(HuggingFace, DeepseekV3) {
  EXPECT_EQ(import_hugging_face(deepseek_v3(), "deepseek-v3"), spec("deepseek-v3"));
}

TEST(HuggingFace, RoutersMayBeLimitedToGroups) {
  const auto groups = [](std::string_view change) {
    return import_hugging_face(changed(deepseek_v3(), change), "toy").moe->groups;
  };
  EXPECT_EQ(groups("{}"), (ExpertGroups{8, 4}));
  EXPECT_EQ(groups(R"({"n_group": 1, "topk_group": 1})"), ExpertGroups{});
  Value kimi = deepseek_v3();
  std::erase_if(std::get<ValueObject>(kimi.data),
                [](const auto& member) { return member.first == "n_group"; });
  EXPECT_EQ(import_hugging_face(changed(kimi, R"({"num_expert_group": 4, "topk_group": 2})"), "toy")
                .moe->groups,
            (ExpertGroups{4, 2}));
  EXPECT_EQ(groups(R"({"topk_method": "greedy"})"), ExpertGroups{});
  EXPECT_EQ(groups(R"({"use_grouped_topk": false})"), ExpertGroups{});
  EXPECT_THAT(mistakes(changed(deepseek_v3(), R"({"topk_group": 9})")),
              testing::ElementsAre("topk_group: exceeds the 8 groups"));
  EXPECT_THAT(mistakes(changed(deepseek_v3(), R"({"n_group": 7})")),
              testing::ElementsAre("topk_group: cannot be: 7 groups do not divide 256 experts"));
}

TEST(HuggingFace, DeepseekV2LiteHasNoQueryLatent) {
  const Value value = config(R"({"architectures": ["DeepseekV2ForCausalLM"],
    "first_k_dense_replace": 1, "hidden_size": 2048, "intermediate_size": 10944,
    "kv_lora_rank": 512, "max_position_embeddings": 163840, "moe_intermediate_size": 1408,
    "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16,
    "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16,
    "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
    "vocab_size": 102400})");
  EXPECT_EQ(import_hugging_face(value, "deepseek-v2-lite"), spec("deepseek-v2-lite"));
}

TEST(HuggingFace, DeepseekMistakesAreToldTogether) {
  const Value value = changed(deepseek_v3(), R"({"moe_layer_freq": 2, "kv_lora_rank": 0})");
  EXPECT_THAT(mistakes(value),
              testing::UnorderedElementsAre("kv_lora_rank: must be from 1 to 4000000, not 0",
                                            "moe_layer_freq: makes layers between MoE layers "
                                            "dense; only the first layers can be dense"));
}

TEST(HuggingFace, GptOss) {
  std::string types;
  for (int layer = 0; layer < 24; ++layer) {
    types += layer % 2 == 0 ? R"("sliding_attention")" : R"(, "full_attention", )";
  }
  types.resize(types.size() - 2);
  const Value value = config(fmt::format(R"({{"architectures": ["GptOssForCausalLM"],
    "attention_bias": true, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2880,
    "intermediate_size": 2880, "layer_types": [{}], "max_position_embeddings": 131072,
    "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 24,
    "num_key_value_heads": 8, "num_local_experts": 32, "sliding_window": 128,
    "swiglu_limit": 7.0, "tie_word_embeddings": false, "vocab_size": 201088,
    "quantization_config": {{"quant_method": "mxfp4"}}}})",
                                         types));
  EXPECT_EQ(import_hugging_face(value, "gpt-oss-20b"), spec("gpt-oss-20b"));
}

TEST(HuggingFace, GemmaWithVisionIsItsTextConfig) {
  const Value value = config(R"({"architectures": ["Gemma3ForConditionalGeneration"],
    "text_config": {"head_dim": 256, "hidden_size": 3840, "intermediate_size": 15360,
      "max_position_embeddings": 131072, "num_attention_heads": 16, "num_hidden_layers": 48,
      "num_key_value_heads": 8, "sliding_window": 1024, "vocab_size": 262208},
    "vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27,
                      "patch_size": 14}})");
  Transformer model = import_hugging_face(value, "gemma-3-12b");
  // 27 layers of four projections, an MLP of two, biases, two layer norms; patches of 14 x 14 x 3;
  // the projection to 3,840.
  const std::int64_t layer = 4 * 1152 * 1152 + 2 * 1152 * 4304 + 4 * 1152 + 5 * 1152 + 4304;
  EXPECT_EQ(model.encoder_weights(), 27 * layer + 588 * 1152 + 1152 + 1152 * 3840);
  EXPECT_THAT(model.left_out, testing::ElementsAre(testing::StartsWith("images: the encoder's")));
  model.vision.reset();
  model.left_out.clear();
  EXPECT_EQ(model, spec("gemma-3-12b"));
  const Value bare = config(R"({"architectures": ["Gemma3ForConditionalGeneration"]})");
  EXPECT_THAT(mistakes(bare),
              testing::ElementsAre("Gemma3ForConditionalGeneration needs a \"text_config\" that "
                                   "describes its language model"));
}

TEST(HuggingFace, Glm4Moe) {
  const Value value = config(R"({"architectures": ["Glm4MoeForCausalLM"], "attention_bias": true,
    "first_k_dense_replace": 3, "head_dim": 128, "hidden_act": "silu", "hidden_size": 5120,
    "intermediate_size": 12288, "max_position_embeddings": 131072, "moe_intermediate_size": 1536,
    "n_routed_experts": 160, "n_shared_experts": 1, "num_attention_heads": 96,
    "num_experts_per_tok": 8, "num_hidden_layers": 92, "num_key_value_heads": 8,
    "num_nextn_predict_layers": 1, "use_qk_norm": true, "vocab_size": 151552})");
  EXPECT_EQ(import_hugging_face(value, "glm-4.5"), spec("glm-4.5"));
}

TEST(HuggingFace, LlamaWithoutKvHeadsHasOnePerQueryHead) {
  const Value value = config(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 11008, "max_position_embeddings": 4096, "num_attention_heads": 32,
    "num_hidden_layers": 32, "vocab_size": 32000})");
  EXPECT_EQ(import_hugging_face(value, "llama-2-7b"), spec("llama-2-7b"));
}

TEST(HuggingFace, LlamaAttentionBiasIsOnAllFourProjections) {
  const Transformer model =
      import_hugging_face(changed(llama(), R"({"attention_bias": true})"), "biased");
  EXPECT_TRUE(model.qkv_bias);
  EXPECT_TRUE(model.output_bias);
}

TEST(HuggingFace, MistralUsesItsSlidingWindowOnEveryLayer) {
  const Value value = changed(llama(), R"({"architectures": ["MistralForCausalLM"],
    "sliding_window": 4096, "vocab_size": 32000})");
  EXPECT_THAT(import_hugging_face(value, "mistral").window_pattern, testing::ElementsAre(4096));
  const Value full = changed(llama(), R"({"architectures": ["MistralForCausalLM"]})");
  EXPECT_THAT(import_hugging_face(full, "mistral").window_pattern, testing::IsEmpty());
}

TEST(HuggingFace, Qwen2HasQkvBiasOnlyAndNoWindowUnlessAsked) {
  const Value value = config(R"({"architectures": ["Qwen2ForCausalLM"], "hidden_size": 5120,
    "intermediate_size": 13824, "max_position_embeddings": 131072, "max_window_layers": 48,
    "num_attention_heads": 40, "num_hidden_layers": 48, "num_key_value_heads": 8,
    "sliding_window": 131072, "use_sliding_window": false, "vocab_size": 152064})");
  EXPECT_EQ(import_hugging_face(value, "qwen2.5-14b"), spec("qwen2.5-14b"));
}

TEST(HuggingFace, QwenWindowsBeginAfterTheFullLayers) {
  const Value value = changed(llama(), R"({"architectures": ["Qwen2ForCausalLM"],
    "num_hidden_layers": 4, "max_window_layers": 3, "sliding_window": 4096,
    "use_sliding_window": true})");
  EXPECT_THAT(import_hugging_face(value, "windowed").window_pattern,
              testing::ElementsAre(0, 0, 0, 4096));
}

TEST(HuggingFace, LayerTypesBecomeTheShortestPattern) {
  const Value value = changed(llama(), R"({"architectures": ["Qwen3ForCausalLM"],
    "num_hidden_layers": 4, "sliding_window": 512, "use_sliding_window": true,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
    })");
  EXPECT_THAT(import_hugging_face(value, "mixed").window_pattern, testing::ElementsAre(512, 0));
}

TEST(HuggingFace, Qwen3HasItsOwnHeadDimQkNormAndTiedEmbeddings) {
  const Value value = config(R"({"architectures": ["Qwen3ForCausalLM"], "head_dim": 128,
    "hidden_size": 1024, "intermediate_size": 3072, "max_position_embeddings": 40960,
    "num_attention_heads": 16, "num_hidden_layers": 28, "num_key_value_heads": 8,
    "sliding_window": null, "tie_word_embeddings": true, "use_sliding_window": false,
    "vocab_size": 151936})");
  EXPECT_EQ(import_hugging_face(value, "qwen3-0.6b"), spec("qwen3-0.6b"));
}

// As transformers 5 saves them: another name for the number of experts, layers by their types.
TEST(HuggingFace, ExpertsBySecondNames) {
  const Value base = qwen3_moe();
  Value renamed;
  for (const auto& [key, value] : std::get<ValueObject>(base.data))
    if (key != "num_experts" && key != "mlp_only_layers") renamed.set(key, value);
  renamed.set("num_local_experts", 128);
  std::vector<Value> types(48, Value("sparse"));
  renamed.set("mlp_layer_types", types);
  EXPECT_EQ(import_hugging_face(renamed, "qwen3-30b-a3b"), spec("qwen3-30b-a3b"));
  types.front() = Value("dense");
  renamed.set("mlp_layer_types", types);
  EXPECT_EQ(import_hugging_face(renamed, "qwen3-30b-a3b").moe->dense_layers, 1);
  EXPECT_THAT(mistakes(changed(base, R"({"num_local_experts": 64})")),
              testing::ElementsAre("num_local_experts: differs from num_experts = 128"));
}

TEST(HuggingFace, Qwen3Moe) {
  EXPECT_EQ(import_hugging_face(qwen3_moe(), "qwen3-30b-a3b"), spec("qwen3-30b-a3b"));
}

TEST(HuggingFace, Qwen3MoeLeadingDenseLayersKeepTheDenseWidth) {
  const Value value = changed(qwen3_moe(), R"({"mlp_only_layers": [0, 1]})");
  const Transformer model = import_hugging_face(value, "mixed");
  EXPECT_EQ(model.moe->dense_layers, 2);
  EXPECT_EQ(model.intermediate, 6144);
}

TEST(HuggingFace, Qwen3MoeDenseLayersInBetweenAreRefused) {
  EXPECT_THAT(mistakes(changed(qwen3_moe(), R"({"mlp_only_layers": [0, 5]})")),
              testing::ElementsAre("mlp_only_layers: makes layer 5 dense after layer 1 has "
                                   "experts; only the first layers can be dense"));
}

TEST(HuggingFace, Qwen3MoeSparseStepLeavesEverySecondLayerDense) {
  const Transformer model =
      import_hugging_face(changed(qwen3_moe(), R"({"decoder_sparse_step": 2})"), "mixed");
  EXPECT_FALSE(model.is_moe_layer(0));
  EXPECT_TRUE(model.is_moe_layer(1));
  EXPECT_FALSE(model.is_moe_layer(2));
  EXPECT_EQ(model.intermediate, 6144);
  EXPECT_EQ(read_model(parse_toml(model_toml(model), "m")), model);
}

TEST(HuggingFace, Mixtral) {
  const Value value = config(R"({"architectures": ["MixtralForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 32768, "num_attention_heads": 32,
    "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8,
    "num_local_experts": 8, "sliding_window": null, "tie_word_embeddings": false,
    "vocab_size": 32000})");
  EXPECT_EQ(import_hugging_face(value, "mixtral-8x7b"), spec("mixtral-8x7b"));
}

TEST(HuggingFace, Olmoe) {
  const Value value = config(R"({"architectures": ["OlmoeForCausalLM"], "attention_bias": false,
    "clip_qkv": null, "hidden_size": 2048, "intermediate_size": 1024,
    "max_position_embeddings": 4096, "num_attention_heads": 16, "num_experts": 64,
    "num_experts_per_tok": 8, "num_hidden_layers": 16, "num_key_value_heads": 16,
    "tie_word_embeddings": false, "vocab_size": 50304})");
  EXPECT_EQ(import_hugging_face(value, "olmoe-1b-7b"), spec("olmoe-1b-7b"));
}

TEST(HuggingFace, UnknownArchitectureListsTheKnown) {
  EXPECT_THAT(
      mistakes(changed(llama(), R"({"architectures": ["Llama9ForCausalLM"]})")),
      testing::ElementsAre(testing::AllOf(
          testing::StartsWith("unknown architecture 'Llama9ForCausalLM'; did you mean "),
          testing::HasSubstr("Known: LlamaForCausalLM, MistralForCausalLM, "),
          testing::EndsWith("; a model built like one of these can be described in TOML"))));
}

// DeepSeek-V3.2 was also published as V3, whose attention reads every key.
TEST(HuggingFace, AnIndexerIsNotLostSilently) {
  const Transformer model = import_hugging_face(
      changed(deepseek_v3(), R"({"index_topk": 2048, "index_n_heads": 64, "index_head_dim": 128})"),
      "m");
  ASSERT_TRUE(model.attention(0).index.has_value());
  EXPECT_EQ(model.attention(0).index->selected, 2048);
  EXPECT_THAT(mistakes(changed(deepseek_v3(), R"({"index_topk": 2048})")),
              testing::Contains("'index_n_heads' is missing"));
}

TEST(HuggingFace, KeysThatMayChangeWhatIsComputedAreRefusedByName) {
  EXPECT_THAT(mistakes(changed(llama(), R"({"ssm_state_size": 128, "rope_theta": 1.0,
                "moe_latent_size": 0, "some_gate": false, "transformers_version": "5"})")),
              testing::ElementsAre("ssm_state_size = 128 is not understood and may change what is "
                                   "computed; if it does not matter, remove it from a copy of the "
                                   "file"));
}

TEST(HuggingFace, NoArchitecture) {
  EXPECT_THAT(mistakes(config("{}")), testing::ElementsAre("'architectures' is missing"));
  EXPECT_THAT(mistakes(config(R"({"architectures": []})")),
              testing::ElementsAre("architectures: must name one architecture"));
  EXPECT_THAT(mistakes(config("[1]")),
              testing::ElementsAre("a Hugging Face config must be one JSON object"));
}

TEST(HuggingFace, ReportsAllMistakesTogether) {
  EXPECT_THAT(
      mistakes(config(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 100,
        "intermediate_size": "wide", "max_position_embeddings": 4096, "num_attention_heads": 32,
        "hidden_act": "gelu", "mlp_bias": true, "vocab_size": -1})")),
      testing::UnorderedElementsAre(
          "'num_hidden_layers' is missing",
          "num_attention_heads: 32 does not divide hidden_size = 100, and there is no head_dim",
          "intermediate_size: must be an integer, not a string",
          "vocab_size: must be from 1 to 64000000, not -1",
          "hidden_act: 'gelu' cannot be expanded; silu can",
          "mlp_bias: linear layers with a bias cannot be expanded"));
}

class ImportedName : public testing::Test {
 protected:
  /// Writes llama() with `changes` to `folder`/`file` and returns the name it is loaded under.
  static std::string load(const std::string& folder, const std::string& file,
                          std::string_view changes) {
    const std::filesystem::path path = own_folder() / folder / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << to_json(changed(llama(), changes));
    return load_model(path.string(), {}).name;
  }
};

TEST_F(ImportedName, IsItsOwn) {
  EXPECT_EQ(load("somewhere", "config.json", R"({"_name_or_path": "meta-llama/Llama-3.1-8B"})"),
            "llama-3.1-8b");
}

TEST_F(ImportedName, ElseItsFolders) {
  EXPECT_EQ(load("My Llama", "config.json", "{}"), "my-llama");
  EXPECT_EQ(load("My Llama", "config.json", R"({"_name_or_path": "./"})"), "my-llama");
}

TEST_F(ImportedName, ElseItsFiles) {
  EXPECT_EQ(load("x", "llama_tuned.json", "{}"), "llama_tuned");
}

}  // namespace
}  // namespace foretoken::hugging_face_test

// Source: transformers 5, the configuration files of gemma3, gemma4, llama4, mistral, mixtral,
// qwen2 (of qwen2_audio), voxtral, qwen2_5_vl, qwen3, qwen3_vl, qwen3_vl_moe, qwen3_5, qwen3_5_moe,
// glm4v_moe, gpt_oss and deepseek_v3.
#include "models/hugging_face/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace foretoken {
namespace {

struct Field {
  std::string_view key;
  std::int64_t value;
};

constexpr auto gemma3 = std::to_array<Field>({{"vocab_size", 262208},
                                              {"hidden_size", 2304},
                                              {"intermediate_size", 9216},
                                              {"num_hidden_layers", 26},
                                              {"num_attention_heads", 8},
                                              {"num_key_value_heads", 4},
                                              {"head_dim", 256},
                                              {"max_position_embeddings", 131072},
                                              {"sliding_window", 4096}});
constexpr auto gemma4 = std::to_array<Field>({{"vocab_size", 262144},
                                              {"hidden_size", 2304},
                                              {"intermediate_size", 9216},
                                              {"num_hidden_layers", 30},
                                              {"num_attention_heads", 8},
                                              {"num_key_value_heads", 4},
                                              {"head_dim", 256},
                                              {"global_head_dim", 512},
                                              {"max_position_embeddings", 131072},
                                              {"sliding_window", 512}});
constexpr auto llama4 = std::to_array<Field>({{"vocab_size", 202048},
                                              {"hidden_size", 5120},
                                              {"intermediate_size", 8192},
                                              {"intermediate_size_mlp", 16384},
                                              {"num_hidden_layers", 48},
                                              {"num_attention_heads", 40},
                                              {"num_key_value_heads", 8},
                                              {"head_dim", 128},
                                              {"max_position_embeddings", 131072},
                                              {"num_experts_per_tok", 1},
                                              {"num_local_experts", 16}});
constexpr auto mistral = std::to_array<Field>({{"vocab_size", 32000},
                                               {"hidden_size", 4096},
                                               {"intermediate_size", 14336},
                                               {"num_hidden_layers", 32},
                                               {"num_attention_heads", 32},
                                               {"num_key_value_heads", 8},
                                               {"max_position_embeddings", 131072}});
constexpr auto qwen2_class = std::to_array<Field>({{"vocab_size", 151936},
                                                   {"hidden_size", 4096},
                                                   {"intermediate_size", 22016},
                                                   {"num_hidden_layers", 32},
                                                   {"num_attention_heads", 32},
                                                   {"num_key_value_heads", 32},
                                                   {"max_position_embeddings", 32768}});
constexpr auto voxtral = std::to_array<Field>({{"vocab_size", 131072},
                                               {"hidden_size", 3072},
                                               {"intermediate_size", 8192},
                                               {"num_hidden_layers", 30},
                                               {"num_attention_heads", 32},
                                               {"num_key_value_heads", 8},
                                               {"head_dim", 128},
                                               {"max_position_embeddings", 131072}});
constexpr auto qwen3_vl = std::to_array<Field>({{"vocab_size", 151936},
                                                {"hidden_size", 4096},
                                                {"intermediate_size", 22016},
                                                {"num_hidden_layers", 32},
                                                {"num_attention_heads", 32},
                                                {"num_key_value_heads", 32},
                                                {"head_dim", 128},
                                                {"max_position_embeddings", 128000}});
constexpr auto qwen3_vl_moe = std::to_array<Field>({{"vocab_size", 151936},
                                                    {"hidden_size", 2048},
                                                    {"intermediate_size", 5632},
                                                    {"num_hidden_layers", 24},
                                                    {"num_attention_heads", 16},
                                                    {"num_key_value_heads", 16},
                                                    {"max_position_embeddings", 128000},
                                                    {"moe_intermediate_size", 1408},
                                                    {"num_experts_per_tok", 4},
                                                    {"num_experts", 60}});
constexpr auto qwen3_5 = std::to_array<Field>({{"vocab_size", 248320},
                                               {"hidden_size", 4096},
                                               {"intermediate_size", 12288},
                                               {"num_hidden_layers", 32},
                                               {"num_attention_heads", 16},
                                               {"num_key_value_heads", 4},
                                               {"head_dim", 256},
                                               {"max_position_embeddings", 32768}});
constexpr auto qwen3_5_moe = std::to_array<Field>({{"vocab_size", 248320},
                                                   {"hidden_size", 2048},
                                                   {"num_hidden_layers", 40},
                                                   {"num_attention_heads", 16},
                                                   {"num_key_value_heads", 2},
                                                   {"head_dim", 256},
                                                   {"max_position_embeddings", 32768},
                                                   {"moe_intermediate_size", 512},
                                                   {"shared_expert_intermediate_size", 512},
                                                   {"num_experts_per_tok", 8},
                                                   {"num_experts", 256}});
constexpr auto glm4v_moe = std::to_array<Field>({{"vocab_size", 151424},
                                                 {"hidden_size", 4096},
                                                 {"intermediate_size", 10944},
                                                 {"num_hidden_layers", 46},
                                                 {"num_attention_heads", 96},
                                                 {"num_key_value_heads", 8},
                                                 {"max_position_embeddings", 65536},
                                                 {"moe_intermediate_size", 1408},
                                                 {"num_experts_per_tok", 8},
                                                 {"n_shared_experts", 1},
                                                 {"n_routed_experts", 128},
                                                 {"first_k_dense_replace", 1}});

// Of models that stand alone, whose files give the sizes: what those leave out without ruin.
constexpr auto eight_kv_heads = std::to_array<Field>({{"num_key_value_heads", 8}});
constexpr auto qwen3_class = std::to_array<Field>({{"head_dim", 128}});
constexpr auto gpt_oss_class = std::to_array<Field>({{"head_dim", 64}, {"num_key_value_heads", 8}});
constexpr auto deepseek_v3_class = std::to_array<Field>({{"first_k_dense_replace", 3}});

struct ClassDefaults {
  std::string_view architecture;
  std::span<const Field> fields;
};
constexpr auto classes =
    std::to_array<ClassDefaults>({{"Gemma3ForConditionalGeneration", gemma3},
                                  {"Gemma4ForConditionalGeneration", gemma4},
                                  {"Llama4ForConditionalGeneration", llama4},
                                  {"Mistral3ForConditionalGeneration", mistral},
                                  {"Qwen2AudioForConditionalGeneration", qwen2_class},
                                  {"VoxtralForConditionalGeneration", voxtral},
                                  {"Qwen3VLForConditionalGeneration", qwen3_vl},
                                  {"Qwen3VLMoeForConditionalGeneration", qwen3_vl_moe},
                                  {"Qwen3_5ForConditionalGeneration", qwen3_5},
                                  {"Qwen3_5MoeForConditionalGeneration", qwen3_5_moe},
                                  {"Glm4vMoeForConditionalGeneration", glm4v_moe},
                                  {"MistralForCausalLM", eight_kv_heads},
                                  {"MixtralForCausalLM", eight_kv_heads},
                                  {"Qwen3ForCausalLM", qwen3_class},
                                  {"GptOssForCausalLM", gpt_oss_class},
                                  {"DeepseekV3ForCausalLM", deepseek_v3_class}});

}  // namespace

Value with_class_defaults(const Value& text, std::string_view architecture,
                          std::vector<std::string>& filled) {
  const auto found = std::ranges::find(classes, architecture, &ClassDefaults::architecture);
  if (found == classes.end()) return text;
  Value complete = text;
  for (const auto& [key, value] : found->fields) {
    if (text.find(key) != nullptr) continue;
    complete.set(key, value);
    filled.push_back(fmt::format("{} = {}", key, value));
  }
  return complete;
}

}  // namespace foretoken

// The architectures that the importer knows.
#include "models/hugging_face_architecture.hpp"

#include <algorithm>
#include <array>

#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

constexpr Architecture deepseek(std::string_view name, bool router_bias) {
  return {.name = name,
          .is_latent = true,
          .experts_key = "n_routed_experts",
          .expert_width_key = "moe_intermediate_size",
          .dense_layers = DenseLayers::leading,
          .router_bias = router_bias};
}

constexpr Architecture gemma3(std::string_view name, bool nests_text) {
  return {.name = name,
          .qk_norm = true,
          .post_norms = true,
          .tied_embeddings = true,
          .window = WindowUse::by_pattern,
          .window_period = 6,
          .activation_key = "hidden_activation",
          .activation = "gelu_pytorch_tanh",
          .nests_text = nests_text};
}

constexpr auto architectures = std::to_array<Architecture>({
    {.name = "LlamaForCausalLM"},
    {.name = "MistralForCausalLM", .window = WindowUse::always},
    {.name = "Qwen2ForCausalLM", .qkv_bias = true, .window = WindowUse::optional},
    {.name = "Qwen3ForCausalLM", .qk_norm = true, .window = WindowUse::optional},
    {.name = "Qwen3MoeForCausalLM",
     .qk_norm = true,
     .window = WindowUse::optional,
     .experts_key = "num_experts",
     .expert_width_key = "moe_intermediate_size",
     .dense_layers = DenseLayers::listed},
    {.name = "MixtralForCausalLM",
     .window = WindowUse::always,
     .experts_key = "num_local_experts",
     .expert_width_key = "intermediate_size"},
    {.name = "OlmoeForCausalLM",
     .qk_norm_full = true,
     .experts_key = "num_experts",
     .expert_width_key = "intermediate_size"},
    deepseek("DeepseekV2ForCausalLM", false),
    deepseek("DeepseekV3ForCausalLM", true),
    {.name = "Glm4MoeForCausalLM",
     .output_bias = false,
     .experts_key = "n_routed_experts",
     .expert_width_key = "moe_intermediate_size",
     .dense_layers = DenseLayers::leading,
     .router_bias = true},
    {.name = "GptOssForCausalLM",
     .qkv_bias = true,
     .attention_sinks = true,
     .window = WindowUse::by_pattern,
     .window_period = 2,
     .experts_key = "num_local_experts",
     .expert_width_key = "intermediate_size",
     .router_bias = true,
     .expert_bias = true},
    gemma3("Gemma3ForCausalLM", false),
    gemma3("Gemma3ForConditionalGeneration", true),
});

}  // namespace

const Architecture& find_architecture(const Value& config) {
  if (!config.is_object()) {
    throw ConfigError(config.position, "a Hugging Face config must be one JSON object");
  }
  Diagnostics diagnostics;
  TableReader table(config, diagnostics, "");
  std::vector<std::string> names;
  if (table.require("architectures", names)) {
    table.expect("architectures", !names.empty(), "must name one architecture");
  }
  diagnostics.throw_if_any();
  const auto found = std::ranges::find(architectures, names.front(), &Architecture::name);
  if (found != architectures.end()) return *found;
  std::vector<std::string_view> known;
  for (const Architecture& architecture : architectures) known.push_back(architecture.name);
  throw ConfigError(table.position("architectures"),
                    unknown_name_message("architecture", names.front(), known) +
                        "; a model built like one of these can be described in TOML");
}

}  // namespace foretoken

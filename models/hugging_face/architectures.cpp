// The architectures that the importer knows.
#include <algorithm>
#include <array>

#include "models/hugging_face/families.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

constexpr auto known = std::to_array<Architecture>({
    {"LlamaForCausalLM", read_llama},
    {"MistralForCausalLM", read_mistral},
    {"Mistral3ForConditionalGeneration", read_mistral3},
    {"Ministral3ForCausalLM", read_mistral},
    {"MistralLarge3ForCausalLM", read_deepseek_v3},
    {"MixtralForCausalLM", read_mixtral},
    {"Llama4ForConditionalGeneration", read_llama4},
    {"Llama4ForCausalLM", read_llama4},
    {"DeciLMForCausalLM", read_decilm},
    {"SmolLM3ForCausalLM", read_smollm3},
    {"CwmForCausalLM", read_cwm},
    {"MiniCPMForCausalLM", read_minicpm},
    {"InternLM2ForCausalLM", read_internlm},
    {"InternLM3ForCausalLM", read_internlm},
    {"ArceeForCausalLM", read_relu2},
    {"NemotronForCausalLM", read_relu2},
    {"ApertusForCausalLM", read_apertus},
    {"OlmoeForCausalLM", read_olmoe},
    {"OlmoForCausalLM", read_llama},
    {"Olmo2ForCausalLM", read_olmo2},
    {"Olmo3ForCausalLM", read_olmo2},
    {"Phi3ForCausalLM", read_phi3},
    {"PhiMoEForCausalLM", read_phimoe},
    {"PhimoeForCausalLM", read_phimoe},
    {"GraniteForCausalLM", read_granite},
    {"GraniteMoeForCausalLM", read_granite_moe},
    {"GraniteMoeSharedForCausalLM", read_granite_moe},
    {"GraniteMoeHybridForCausalLM", read_granite_hybrid},
    {"SeedOssForCausalLM", read_seed_oss},
    {"HunYuanDenseV1ForCausalLM", read_hunyuan},
    {"HunYuanMoEV1ForCausalLM", read_hunyuan_moe},
    {"Ernie4_5ForCausalLM", read_ernie},
    {"Ernie4_5_MoeForCausalLM", read_ernie_moe},
    {"Qwen2ForCausalLM", read_qwen2},
    {"Qwen2MoeForCausalLM", read_qwen2_moe},
    {"Qwen2VLForConditionalGeneration", read_qwen2},
    {"Qwen2_5_VLForConditionalGeneration", read_qwen2},
    {"Qwen2AudioForConditionalGeneration", read_qwen2_audio},
    {"Qwen2_5OmniModel", read_qwen2_omni},
    {"Qwen2_5OmniForConditionalGeneration", read_qwen2_omni},
    {"Qwen3OmniMoeForConditionalGeneration", read_qwen3_omni},
    {"VoxtralForConditionalGeneration", read_voxtral},
    {"Qwen3ForCausalLM", read_qwen3},
    {"Qwen3MoeForCausalLM", read_qwen3_moe},
    {"Qwen3VLForConditionalGeneration", read_qwen3_vl},
    {"Qwen3VLMoeForConditionalGeneration", read_qwen3_vl_moe},
    {"MiMoForCausalLM", read_mimo},
    {"MiMoV2FlashForCausalLM", read_mimo_v2},
    {"DeepseekForCausalLM", read_deepseek_moe},
    {"DeepseekV2ForCausalLM", read_deepseek_v2},
    {"DeepseekV3ForCausalLM", read_deepseek_v3},
    {"KimiVLForConditionalGeneration", read_kimi_k25},
    {"KimiK25ForConditionalGeneration", read_kimi_k25},
    {"GlmForCausalLM", read_glm},
    {"Glm4ForCausalLM", read_glm4},
    {"Glm4vForConditionalGeneration", read_glm4v},
    {"Glm4MoeForCausalLM", read_glm4_moe},
    {"Glm4vMoeForConditionalGeneration", read_glm4v_moe},
    {"Glm4MoeLiteForCausalLM", read_deepseek_v3},
    {"GptOssForCausalLM", read_gpt_oss},
    {"MiniMaxM2ForCausalLM", read_minimax_m2},
    {"Step3p5ForCausalLM", read_step3p5},
    {"Step3p7FlashForCausalLM", read_step3p5},
    {"Step3p7ForConditionalGeneration", read_step3p5},
    {"DeepseekV32ForCausalLM", read_deepseek_v32},
    {"GlmMoeDsaForCausalLM", read_glm_moe_dsa},
    {"DeepseekV4ForCausalLM", read_deepseek_v4},
    {"MiniMaxM3ForCausalLM", read_minimax_m3},
    {"MiniMaxM3ForConditionalGeneration", read_minimax_m3},
    {"Qwen3NextForCausalLM", read_qwen_hybrid},
    {"Qwen3_5ForCausalLM", read_qwen_hybrid},
    {"Qwen3_5MoeForCausalLM", read_qwen_hybrid},
    {"Qwen3_5ForConditionalGeneration", read_qwen_hybrid},
    {"Qwen3_5MoeForConditionalGeneration", read_qwen_hybrid},
    {"AfmoeForCausalLM", read_afmoe},
    {"LagunaForCausalLM", read_laguna},
    {"Dots1ForCausalLM", read_dots1},
    {"SolarOpenForCausalLM", read_glm4_moe},
    {"BailingMoeForCausalLM", read_bailing_moe},
    {"BailingMoeV2ForCausalLM", read_bailing_moe},
    {"ExaoneForCausalLM", read_exaone3},
    {"Exaone4ForCausalLM", read_exaone4},
    {"ExaoneMoEForCausalLM", read_exaone_moe},
    {"ExaoneMoeForCausalLM", read_exaone_moe},
    {"KimiLinearForCausalLM", read_kimi_linear},
    {"KimiK3ForConditionalGeneration", read_kimi_linear},
    {"NemotronHForCausalLM", read_nemotron_h},
    {"FalconH1ForCausalLM", read_falcon_h1},
    {"Lfm2ForCausalLM", read_lfm2},
    {"Lfm2MoeForCausalLM", read_lfm2},
    {"CohereForCausalLM", read_cohere},
    {"Cohere2ForCausalLM", read_cohere},
    {"GemmaForCausalLM", read_gemma},
    {"Gemma2ForCausalLM", read_gemma2},
    {"Gemma3ForCausalLM", read_gemma3},
    {"Gemma3ForConditionalGeneration", read_gemma3_vision},
    {"Gemma4ForCausalLM", read_gemma4},
    {"Gemma4ForConditionalGeneration", read_gemma4},
});

}  // namespace

std::span<const Architecture> architectures() { return known; }

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
  const std::string& name = names.front();
  const auto found = std::ranges::find(known, name, &Architecture::name);
  if (found != known.end()) return *found;
  std::vector<std::string_view> readable;
  for (const Architecture& architecture : known) readable.push_back(architecture.name);
  throw ConfigError(table.position("architectures"),
                    unknown_name_message("architecture", name, readable) +
                        "; a model built like one of these can be described in TOML");
}

}  // namespace foretoken

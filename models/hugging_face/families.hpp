// The readers of architectures, by family: what the registry (architectures.cpp) puts together.
// Internal to this room.
#pragma once

#include "models/hugging_face/architecture.hpp"

namespace foretoken {

// llama.cpp
void read_llama(ConfigReader& config);
void read_smollm3(ConfigReader& config);
void read_voxtral(ConfigReader& config);
void read_mistral(ConfigReader& config);
void read_mistral3(ConfigReader& config);
void read_mixtral(ConfigReader& config);
void read_olmoe(ConfigReader& config);
void read_llama4(ConfigReader& config);
void read_decilm(ConfigReader& config);
// qwen.cpp
void read_qwen2(ConfigReader& config);
void read_qwen2_audio(ConfigReader& config);
void read_qwen2_omni(ConfigReader& config);
void read_qwen2_moe(ConfigReader& config);
void read_qwen3(ConfigReader& config);
void read_qwen3_moe(ConfigReader& config);
void read_qwen3_vl(ConfigReader& config);
void read_qwen3_vl_moe(ConfigReader& config);
void read_qwen3_omni(ConfigReader& config);
void read_qwen_hybrid(ConfigReader& config);
void read_mimo(ConfigReader& config);
void read_mimo_v2(ConfigReader& config);
// deepseek.cpp
void read_deepseek_v2(ConfigReader& config);
void read_deepseek_v3(ConfigReader& config);
void read_deepseek_v32(ConfigReader& config);
void read_glm_moe_dsa(ConfigReader& config);
void read_kimi_k25(ConfigReader& config);
// deepseek_v4.cpp
void read_deepseek_v4(ConfigReader& config);
// kimi.cpp
void read_kimi_linear(ConfigReader& config);
// laguna.cpp
void read_afmoe(ConfigReader& config);
void read_laguna(ConfigReader& config);
// minimax_m3.cpp
void read_minimax_m3(ConfigReader& config);
// state_spaces.cpp
void read_nemotron_h(ConfigReader& config);
void read_falcon_h1(ConfigReader& config);
void read_granite_hybrid(ConfigReader& config);
// lfm2.cpp
void read_lfm2(ConfigReader& config);
// gemma.cpp
void read_gemma(ConfigReader& config);
void read_gemma2(ConfigReader& config);
void read_gemma3(ConfigReader& config);
void read_gemma3_vision(ConfigReader& config);
void read_gemma4(ConfigReader& config);
// experts_of_many.cpp
void read_glm4_moe(ConfigReader& config);
void read_dots1(ConfigReader& config);
void read_deepseek_moe(ConfigReader& config);
void read_phimoe(ConfigReader& config);
void read_bailing_moe(ConfigReader& config);
void read_gpt_oss(ConfigReader& config);
void read_glm4v_moe(ConfigReader& config);
void read_minimax_m2(ConfigReader& config);
void read_ernie_moe(ConfigReader& config);
void read_granite_moe(ConfigReader& config);
void read_hunyuan_moe(ConfigReader& config);
// exaone.cpp
void read_exaone3(ConfigReader& config);
void read_exaone4(ConfigReader& config);
void read_exaone_moe(ConfigReader& config);
// step.cpp
void read_step3p5(ConfigReader& config);
// dense.cpp
void read_glm(ConfigReader& config);
void read_glm4(ConfigReader& config);
void read_glm4v(ConfigReader& config);
void read_granite(ConfigReader& config);
void read_phi3(ConfigReader& config);
void read_olmo2(ConfigReader& config);
void read_seed_oss(ConfigReader& config);
void read_ernie(ConfigReader& config);
void read_cohere(ConfigReader& config);
void read_hunyuan(ConfigReader& config);
void read_cwm(ConfigReader& config);
void read_minicpm(ConfigReader& config);
void read_internlm(ConfigReader& config);
void read_relu2(ConfigReader& config);
void read_apertus(ConfigReader& config);

}  // namespace foretoken

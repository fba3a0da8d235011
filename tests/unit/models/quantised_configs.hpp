// Configurations of checkpoints with a quantisation block, shortened to the keys that matter.
#pragma once

#include <fmt/ranges.h>

#include <string>
#include <string_view>

#include "models/transformer.hpp"
#include "sim/base/json.hpp"

namespace foretoken::quantised_configs {

inline Value dense(std::string_view block) {
  Value value = parse_json(R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
    "intermediate_size": 14336, "max_position_embeddings": 131072, "num_attention_heads": 32,
    "num_hidden_layers": 4, "num_key_value_heads": 8, "vocab_size": 128256})",
                           {"config.json"});
  if (!block.empty()) value.set("quantization_config", parse_json(block, {"config.json"}));
  return value;
}

inline Value experts(std::string_view block) {
  Value value = parse_json(R"({"architectures": ["DeepseekV3ForCausalLM"],
    "first_k_dense_replace": 1, "hidden_size": 7168, "intermediate_size": 18432,
    "kv_lora_rank": 512, "max_position_embeddings": 262144, "moe_intermediate_size": 2048,
    "n_routed_experts": 384, "n_shared_experts": 1, "num_attention_heads": 64,
    "num_experts_per_tok": 8, "num_hidden_layers": 5, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840})",
                           {"config.json"});
  value.set("quantization_config", parse_json(block, {"config.json"}));
  return value;
}

inline WeightFormats formats(const Value& config) {
  return import_hugging_face(config, "m").released.value_or(WeightFormats());
}

/// compressed-tensors with one group.
inline std::string groups(std::string_view weights, std::string_view activations,
                          std::string_view ignored = "\"lm_head\"") {
  return fmt::format(R"({{"quant_method": "compressed-tensors", "ignore": [{}],
    "config_groups": {{"group_0": {{"targets": ["Linear"], "weights": {}, "input_activations": {}
    }}}}}})",
                     ignored, weights, activations);
}

}  // namespace foretoken::quantised_configs

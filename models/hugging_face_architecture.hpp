// What the architectures of Hugging Face's config.json have in common and where they differ: one
// line each. Internal to this room.
#pragma once

#include <string_view>

#include "sim/base/table_reader.hpp"

namespace foretoken {

/// Llama and OLMoE ignore sliding_window, Mistral and Mixtral always use it, Qwen asks
/// use_sliding_window and leaves the first max_window_layers full, gpt-oss and Gemma leave every
/// second or sixth layer full.
enum class WindowUse { never, always, optional, by_pattern };

/// How a config says which layers come before the first with experts: not at all, by Qwen's
/// mlp_only_layers and decoder_sparse_step, or by DeepSeek's first_k_dense_replace.
enum class DenseLayers { none, listed, leading };

struct Architecture {
  std::string_view name;
  bool qkv_bias = false;
  bool output_bias = true;  // where attention_bias is set
  bool qk_norm = false;
  bool qk_norm_full = false;
  bool is_latent = false;
  bool attention_sinks = false;
  bool post_norms = false;
  bool tied_embeddings = false;  // unless the config says otherwise
  WindowUse window = WindowUse::never;
  int window_period = 1;              // by_pattern: the last of so many layers is full
  std::string_view experts_key = {};  // "" = dense
  std::string_view expert_width_key = {};
  DenseLayers dense_layers = DenseLayers::none;
  bool router_bias = false;
  bool expert_bias = false;
  std::string_view activation_key = "hidden_act";
  std::string_view activation = "silu";
  bool nests_text = false;  // the language model is described in "text_config"
};

/// The first of "architectures" (released configs have exactly one). ConfigError for one that the
/// operator graph cannot expand, listing those it can.
const Architecture& find_architecture(const Value& config);

}  // namespace foretoken

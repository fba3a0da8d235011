// The fields that most decoders share, and the traits in which architectures differ: what the files
// of families put together. Internal to this room.
#pragma once

#include <initializer_list>

#include "models/hugging_face/architecture.hpp"

namespace foretoken {

/// Llama and OLMoE ignore sliding_window, Mistral and Mixtral always use it, Qwen asks
/// use_sliding_window and leaves the first max_window_layers full, gpt-oss and Gemma leave every
/// second or sixth layer full.
enum class WindowUse { never, always, optional, by_pattern };

/// How a config says which layers come before the first with experts: not at all, by Qwen's
/// mlp_only_layers and decoder_sparse_step, or by DeepSeek's first_k_dense_replace.
enum class DenseLayers { none, listed, leading };

struct DecoderTraits {
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
  std::string_view topk_key = "num_experts_per_tok";
  std::string_view expert_width_key = {};
  std::string_view shared_experts_key = "n_shared_experts";  // with leading dense layers
  DenseLayers dense_layers = DenseLayers::none;
  bool router_bias = false;
  bool expert_bias = false;
  std::string_view activation_key = "hidden_act";
  std::string_view activation = "silu";
};

/// Everything, for an architecture that its traits describe.
void read_decoder(ConfigReader& config, const DecoderTraits& traits);

// Its parts, for those that differ in more.

/// Layers (unless they are known already), widths, vocabulary, context, embeddings.
void read_sizes(ConfigReader& config, const DecoderTraits& traits);
void read_attention(ConfigReader& config, const DecoderTraits& traits);
void read_windows(ConfigReader& config, const DecoderTraits& traits);
void read_experts(ConfigReader& config, const DecoderTraits& traits);
/// intermediate_size, where a layer has a dense MLP.
void read_dense_width(ConfigReader& config);
/// Refuses an activation function and biases that no operator stands for.
void check_mlp(ConfigReader& config, const DecoderTraits& traits);

/// Refuses biases of linear layers, which `key` switches on and no operator stands for.
void refuse_bias(TableReader& table, std::string_view key);

/// The names in layer_types, one a layer; each must be among `known`. Empty if there is none.
std::vector<std::string> read_layer_types(ConfigReader& config,
                                          const std::vector<std::string_view>& known);
/// Makes `kind_of_layer` (an index into model.kinds a layer) the model's pattern.
void set_kinds(Transformer& model, std::vector<LayerKind> kinds, std::vector<int> kind_of_layer);
/// The layer's number of kinds by its name in `types`, one a layer.
std::vector<int> kinds_of(const std::vector<std::string>& types,
                          const std::vector<std::string_view>& names);

/// The format of a recurrence's state: "float32" or a 16-bit one.
void read_state_dtype(TableReader& table, std::string_view key, StateShape& state);
/// Says that a gate for each attention head is not counted.
void leave_out_head_gates(Transformer& model);
/// Passes over keys that change nothing here.
void pass_over(TableReader& table, std::initializer_list<std::string_view> keys);

}  // namespace foretoken

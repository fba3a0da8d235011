// A decoder-only transformer as its config describes it: dimensions, heads, MLP or experts, and
// which layers use which attention window. Read from specs/*.toml, any TOML path, or a Hugging Face
// config.json. What it leaves out: weights' values, tokenizers, training.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/dtype.hpp"
#include "kernels/expert_reach.hpp"
#include "models/layer_kinds.hpp"
#include "models/media_encoder.hpp"
#include "sim/base/enum_names.hpp"
#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

/// Mixture of experts in place of the dense MLP.
struct MoeConfig {
  int experts = 0;
  int topk = 0;
  ExpertGroups groups = {};              // that the router limits a token's experts to
  std::int64_t intermediate = 0;         // width of one expert
  std::int64_t shared_intermediate = 0;  // width of the always-active shared expert; 0 = none
  int dense_layers = 0;                  // leading layers that keep a dense MLP
  int step = 1;              // after them, every so many layers one has experts, the last of them
  bool shared_gate = false;  // the shared expert's result is scaled by a gate (Qwen)
  bool router_bias = false;  // a number an expert: a bias (gpt-oss) or a correction (DeepSeek-V3)
  bool expert_bias = false;  // biases on both products of every expert (gpt-oss)
  /// Width that tokens are projected to for the routed experts, and back from; 0 = the hidden
  /// state's (Nemotron 3, Kimi K3).
  std::int64_t latent = 0;
  friend bool operator==(const MoeConfig&, const MoeConfig&) = default;
};

/// Multi-head latent attention (DeepSeek-V2, section 2.1): keys and values of all heads are cached
/// as one latent vector and one rotary key a token.
struct MlaConfig {
  int query_rank = 0;        // width of the queries' own latent; 0 = queries are projected directly
  int kv_rank = 0;           // width of the cached latent
  int nope_dim = 0;          // of each head's queries and keys, the part without rotary embedding
  int rope_dim = 0;          // and the part with it; the key's is shared by all heads
  int value_dim = 0;         // of each head's values
  bool output_gate = false;  // a gate for each value that comes out (Kimi K3)
  friend bool operator==(const MlaConfig&, const MlaConfig&) = default;
};

/// How a head that drafts tokens takes in what the target has computed: EAGLE (one hidden state
/// beside the token's embedding, Li et al. 2024), EAGLE-3 (hidden states of several layers, Li et
/// al. 2025), or a multi-token prediction module (DeepSeek-V3 report, section 2.2).
enum class DraftHeadKind { eagle, eagle3, mtp };
template <>
struct EnumNames<DraftHeadKind> {
  static constexpr auto names = std::to_array<std::string_view>({"eagle", "eagle3", "mtp"});
};

/// What makes a transformer of one layer a head on another model. It uses the target's embedding
/// and, but for EAGLE-3's (of a smaller vocabulary), the target's LM head.
struct DraftHead {
  DraftHeadKind kind = DraftHeadKind::eagle;
  std::int64_t target_hidden = 0;  // width of the target's hidden states
  std::int64_t target_vocabulary = 0;
  /// EAGLE-3: layers whose hidden states come in; 0 = the head's own last one, as in all passes
  /// after the first.
  int target_layers = 0;

  [[nodiscard]] bool has_own_lm_head() const { return kind == DraftHeadKind::eagle3; }
  friend bool operator==(const DraftHead&, const DraftHead&) = default;
};

/// Number formats of a checkpoint's weights by what they belong to: dense MLPs (and whatever has no
/// name of its own here), attention's projections, shared and routed experts. Embedding, LM head,
/// norms, biases and routers stay in activation_dtype(linear) in all of them.
struct WeightFormats {
  DType linear = DType::bf16;
  DType experts = DType::bf16;
  DType attention = DType::bf16;
  DType shared = DType::bf16;

  WeightFormats() = default;
  WeightFormats(DType all) : WeightFormats(all, all) {}
  WeightFormats(DType of_linear, DType of_experts)
      : linear(of_linear), experts(of_experts), attention(of_linear), shared(of_linear) {}
  friend bool operator==(const WeightFormats&, const WeightFormats&) = default;
};

struct Transformer {
  std::string name;   // "llama-3.1-8b"
  std::string title;  // "Llama 3.1 8B"
  int layers = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;  // dense MLP width; 0 when every layer is MoE
  int query_heads = 0;
  int kv_heads = 0;  // latent attention: as many as query heads
  int head_dim = 0;  // latent attention: nope_dim + rope_dim
  std::int64_t vocabulary = 0;
  std::int64_t context_max = 0;  // positions the model was made for
  bool tied_embeddings = false;  // LM head shares the embedding's weights
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;       // RMSNorm on each query and key head (width head_dim)
  bool qk_norm_full = false;  // RMSNorm over all query (key) heads together (OLMoE)
  /// Ranks add up squares of their heads for it, in place of gathering all heads (MiniMax; in
  /// TensorRT-LLM they gather).
  bool qk_norm_sums = false;
  bool attention_sinks = false;  // a learned score beside the keys' in each head (gpt-oss)
  bool post_norms = false;       // further norms behind attention and MLP (Gemma)
  bool parallel_blocks = false;  // attention and MLP read the same norm, side by side (Cohere)
  bool ungated_mlp = false;      // MLPs and experts of two products, not three (Nemotron's ReLU^2)
  /// Width of an embedding that every layer has of its own, which a gate lets in behind the MLP
  /// (Gemma 4 E2B); 0 = none.
  std::int64_t layer_embedding = 0;
  int hyper_streams = 0;         // hidden states that run beside each other (DeepSeek-V4); 0 = one
  std::optional<MlaConfig> mla;  // in place of grouped-query attention
  std::optional<CompressedAttention> compressed;  // likewise
  std::optional<MoeConfig> moe;
  /// Sliding windows by layer, repeating: {} = full attention everywhere; {4096, 0} = every other.
  std::vector<std::int64_t> window_pattern;
  /// Windows do not slide but begin at multiples of their length (Llama 4).
  bool chunked_windows = false;
  /// Where layers differ in more than their window: the kinds, and which of them each layer is,
  /// repeating as window_pattern does; {} = all as the fields above say.
  std::vector<LayerKind> kinds;
  std::vector<int> kind_pattern;
  /// What makes tokens of images, and of audio.
  std::optional<MediaEncoder> vision, audio;
  /// Of encoders of which nothing but their size is known: loaded, but no request here has anything
  /// for them.
  std::int64_t encoder_parameters = 0;
  /// What was left out of the model when it was imported, a sentence each.
  std::vector<std::string> left_out;
  /// Formats in which the weights were published, where that is not bf16 throughout.
  std::optional<WeightFormats> released;
  /// Format that the checkpoint has scales for to keep its KV cache in, which engines then do.
  std::optional<DType> kv_released;
  /// Published number of parameters, for `model show` and the test; 0 = not known.
  std::int64_t parameters_published = 0;
  int mtp_layers = 0;  // multi-token prediction modules released with it; not among `layers`
  std::optional<DraftHead> draft_head;  // this is no model but a head on one

  [[nodiscard]] bool is_moe_layer(int layer) const {
    if (!moe || layer < moe->dense_layers || (layer - moe->dense_layers + 1) % moe->step != 0) {
      return false;
    }
    const LayerKind* own = kind(layer);
    return own == nullptr || (own->has_mlp && own->has_experts);
  }
  [[nodiscard]] std::int64_t window(int layer) const { return attention(layer).window; }
  /// The layer's own kind; nullptr where it is as the model's fields say.
  [[nodiscard]] const LayerKind* kind(int layer) const;
  [[nodiscard]] AttentionShape attention(int layer) const;
  /// Of the layer's MLP where it is dense.
  [[nodiscard]] std::int64_t dense_width(int layer) const;
  /// Parameters of all encoders, which come before the language model.
  [[nodiscard]] std::int64_t encoder_weights() const {
    return encoder_parameters + (vision ? vision->parameters() : 0) +
           (audio ? audio->parameters() : 0);
  }
  [[nodiscard]] const std::optional<MediaEncoder>& encoder(Medium medium) const {
    return medium == Medium::image ? vision : audio;
  }
  [[nodiscard]] bool takes(Medium medium) const {
    return encoder(medium) && encoder(medium)->takes_media();
  }
  [[nodiscard]] bool takes_media() const { return takes(Medium::image) || takes(Medium::audio); }
  /// Products of an MLP or expert: gate, up and down, or the last two.
  [[nodiscard]] int mlp_products() const { return ungated_mlp ? 2 : 3; }
  friend bool operator==(const Transformer&, const Transformer&) = default;
};

/// Names of the models inside the program, sorted.
std::vector<std::string> model_names();
/// Names of the draft heads inside the program, sorted: models/drafts/*.toml.
std::vector<std::string> draft_head_names();

/// A built-in model or draft head by name, a TOML path (has a '/' or ends in ".toml"), or a path to
/// a Hugging Face config.json (ends in ".json"; named after its "_name_or_path", else after its
/// folder or file; an hf_quant_config.json beside it says its formats). An unknown name or a file
/// that does not exist is a ConfigError at `asked_at`.
Transformer load_model(const std::string& name_or_path, const SourcePosition& asked_at);

/// The multi-token prediction module of `model`, which must have one (mtp_layers): one layer of the
/// last one's kind behind a projection of the token's embedding and the hidden state. What it
/// shares with the model is not among its parameters.
Transformer mtp_module(const Transformer& model);

/// Reads a parsed TOML spec; all mistakes are thrown together.
Transformer read_model(const Value& root);

/// Reads a parsed Hugging Face config. An architecture that the generator cannot expand is a
/// ConfigError that lists the ones it can, and so is a key that may change what is computed and
/// that nobody reads. `name` is what the model will be called. `quantisation`: what stands in for a
/// missing "quantization_config" (the "quantization" of ModelOpt's hf_quant_config.json).
Transformer import_hugging_face(const Value& config, const std::string& name,
                                const Value* quantisation = nullptr);

/// The spec as TOML text that read_model accepts.
std::string model_toml(const Transformer& model);

}  // namespace foretoken

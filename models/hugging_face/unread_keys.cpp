#include "models/hugging_face/unread_keys.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace foretoken {
namespace {

/// Words between underscores that name a size, a count or a way to compute.
constexpr auto telling = std::to_array<std::string_view>(
    {"attn",      "attention", "block",        "blocks", "cache",   "chunk",  "clip",   "compress",
     "conv",      "conv1d",    "cross",        "depth",  "dim",     "dims",   "dwa",    "engram",
     "expand",    "expert",    "experts",      "ffn",    "gate",    "gated",  "global", "group",
     "groups",    "hash",      "hc",           "head",   "heads",   "hidden", "hybrid", "index",
     "indexer",   "inner",     "intermediate", "kernel", "kv",      "latent", "layer",  "layers",
     "linear",    "local",     "lora",         "mamba",  "mla",     "mlp",    "moe",    "mtp",
     "ngram",     "parallel",  "pattern",      "q",      "qk",      "rank",   "ratio",  "ratios",
     "recurrent", "rwkv",      "shared",       "size",   "sliding", "sparse", "ssm",    "state",
     "stride",    "swa",       "topk",         "v",      "width",   "window", "yoco"});

/// Keys with such words that change no kernel here, or that repeat others: what training used, how
/// Hugging Face's own code runs, and generation defaults.
constexpr auto inert = std::to_array<std::string_view>({"add_cross_attention",
                                                        "architectures",
                                                        "attention_dropout",
                                                        "attention_value_scale",
                                                        "attn_implementation",
                                                        "attn_pdrop",
                                                        "auto_map",
                                                        "aux_loss_alpha",
                                                        "cache_implementation",
                                                        "chunk_size_feed_forward",
                                                        "cross_attention_hidden_size",
                                                        "ep_size",
                                                        "expert_dropout",
                                                        "final_logit_softcapping",
                                                        "attn_logit_softcapping",
                                                        "attention_multiplier",
                                                        "fused_mlp",
                                                        "head_dtype",
                                                        "hidden_dropout",
                                                        "hidden_dropout_prob",
                                                        "initial_context_length",
                                                        "initializer_range",
                                                        "is_encoder_decoder",
                                                        "layer_norm_eps",
                                                        "layer_norm_epsilon",
                                                        "layernorm_epsilon",
                                                        "max_length",
                                                        "min_length",
                                                        "model_max_length",
                                                        "moe_dropout",
                                                        "moe_renormalize",
                                                        "moe_router_activation_func",
                                                        "moe_router_dtype",
                                                        "moe_router_scaling_factor",
                                                        "no_repeat_ngram_size",
                                                        "encoder_no_repeat_ngram_size",
                                                        "norm_topk_prob",
                                                        "num_beam_groups",
                                                        "num_beams",
                                                        "n_groups",
                                                        "num_logits_to_keep",
                                                        "original_max_position_embeddings",
                                                        "output_attentions",
                                                        "output_hidden_states",
                                                        "output_router_logits",
                                                        "partial_rotary_factor",
                                                        "pretraining_tp",
                                                        "pruned_heads",
                                                        "query_pre_attn_scalar",
                                                        "rotary_dim",
                                                        "router_aux_loss_coef",
                                                        "routed_scaling_factor",
                                                        "scoring_func",
                                                        "swa_rope_theta",
                                                        "tokenizer_class",
                                                        "top_k",
                                                        "type_vocab_size",
                                                        "use_cache",
                                                        "vision_chunk",
                                                        "use_unified_vision_chunk",
                                                        "problem_type",
                                                        "layer_norm_type",
                                                        "rope_local_base_freq",
                                                        "mamba_ssm_dtype",
                                                        "moe_aux_loss_coef",
                                                        "moe_z_loss_coef",
                                                        "attn_temperature_tuning",
                                                        "attn_scale",
                                                        "floor_scale",
                                                        "sliding_window_size",
                                                        "image_seq_length",
                                                        "video_seq_length",
                                                        "for_llm_class",
                                                        "logits_to_keep",
                                                        "embd_pdrop",
                                                        "resid_pdrop",
                                                        "moe_layers_without_aux",
                                                        "model_parallel",
                                                        "quantization_config",
                                                        "text_config",
                                                        "vision_config",
                                                        "audio_config"});

/// Last words of keys that name a constant of the computation, not a size, a count or a way of it.
constexpr auto constants = std::to_array<std::string_view>(
    {"alpha", "beta", "coef", "coeff", "dropout", "dtype", "eps", "epsilon", "implementation",
     "init", "jitter", "loss", "noise", "prob", "scale", "scaling", "std", "temperature", "theta"});

constexpr bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_telling(std::string_view key) {
  if (is_one_of(key, inert) || key.ends_with("_id") || key.ends_with("_token")) return false;
  if (is_one_of(key.substr(key.rfind('_') + 1), constants)) return false;
  while (!key.empty()) {
    const std::size_t end = std::min(key.find('_'), key.size());
    if (is_one_of(key.substr(0, end), telling)) return true;
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return false;
}

/// Off, empty, or nothing: null members are not kept at all.
bool is_in_use(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
  if (const auto* count = std::get_if<std::int64_t>(&value.data)) return *count != 0;
  if (const auto* number = std::get_if<double>(&value.data)) return *number != 0;
  if (const auto* text = std::get_if<std::string>(&value.data)) return !text->empty();
  if (const auto* list = std::get_if<ValueArray>(&value.data)) return !list->empty();
  return !std::get<ValueObject>(value.data).empty();
}

std::string value_text(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? " = true" : " = false";
  if (const auto* count = std::get_if<std::int64_t>(&value.data))
    return fmt::format(" = {}", *count);
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    return fmt::format(" = \"{}\"", text->substr(0, 40));
  }
  return "";
}

}  // namespace

void refuse_unread_keys(const Value& config, const std::vector<std::string>& asked,
                        Diagnostics& diagnostics) {
  for (const auto& [key, value] : std::get<ValueObject>(config.data)) {
    const bool was_read = std::ranges::find(asked, key) != asked.end();
    if (was_read || !is_telling(key) || !is_in_use(value)) continue;
    diagnostics.add(value.position,
                    fmt::format("{}{} is not understood and may change what is computed; if "
                                "it does not matter, remove it from a copy of the file",
                                key, value_text(value)));
  }
}

}  // namespace foretoken

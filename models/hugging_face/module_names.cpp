#include "models/hugging_face/module_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace foretoken {
namespace {

/// How checkpoints name the layers of the language model.
constexpr auto prefixes =
    std::to_array<std::string_view>({"model.layers", "language_model.model.layers",
                                     "model.language_model.layers", "backbone.layers", "layers"});

/// Globs with '*' alone, matched greedily with one way back.
bool matches_glob(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// In polynomial time, and no deeper than the name is long: files are not ours.
std::optional<std::regex> read_expression(std::string_view pattern) {
  constexpr std::size_t length_max = 400;
  if (pattern.size() > length_max) return std::nullopt;
  try {
    return std::regex(std::string(pattern),
                      std::regex::ECMAScript | std::regex_constants::__polynomial);
  } catch (const std::regex_error&) {
    return std::nullopt;
  }
}

/// Of all runs of whole words of `name`, whether one is among `names`.
bool has_run_among(std::string_view name, const std::unordered_set<std::string>& names) {
  for (std::size_t begin = 0; begin < name.size();) {
    for (std::size_t end = begin; end < name.size();) {
      end = std::min(name.find('.', end + 1), name.size());
      if (names.contains(std::string(name.substr(begin, end - begin)))) return true;
    }
    begin = std::min(name.find('.', begin), name.size() - 1) + 1;
  }
  return false;
}

bool has_recurrence(const LayerKind* kind) { return kind != nullptr && kind->state.has_value(); }

void add_recurrence(const Transformer& model, const StateShape& state,
                    std::vector<Projection>& found) {
  const auto hidden = static_cast<double>(model.hidden);
  const auto out = static_cast<double>(state.value_width());
  const double in = static_cast<double>(state.channels()) + out;
  found.push_back({"in_proj",
                   hidden * in,
                   {"linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv", "mixer.in_proj",
                    "mamba.in_proj", "conv.in_proj"}});
  found.push_back({"out_proj",
                   hidden * out,
                   {"linear_attn.out_proj", "mixer.out_proj", "mamba.out_proj", "conv.out_proj"}});
  if (state.kind != StateKind::kimi_delta) return;
  found.end()[-2].spellings.emplace_back("self_attn.q_proj");
  found.end()[-1].spellings.emplace_back("self_attn.o_proj");
}

void add_latent_attention(const Transformer& model, std::vector<Projection>& found) {
  const MlaConfig& mla = *model.mla;
  const auto hidden = static_cast<double>(model.hidden);
  const double heads = model.query_heads;
  const double query = heads * (mla.nope_dim + mla.rope_dim);
  if (mla.query_rank > 0) {
    found.push_back({"q_a_proj",
                     hidden * mla.query_rank,
                     {"self_attn.q_a_proj", "self_attn.fused_qkv_a_proj_with_mqa"}});
    found.push_back({"q_b_proj", mla.query_rank * query, {"self_attn.q_b_proj"}});
  } else {
    found.push_back({"q_proj", hidden * query, {"self_attn.q_proj"}});
  }
  found.push_back({"kv_a_proj_with_mqa",
                   hidden * (mla.kv_rank + mla.rope_dim),
                   {"self_attn.kv_a_proj_with_mqa", "self_attn.fused_qkv_a_proj_with_mqa"}});
  found.push_back(
      {"kv_b_proj", mla.kv_rank * heads * (mla.nope_dim + mla.value_dim), {"self_attn.kv_b_proj"}});
  found.push_back({"o_proj", hidden * heads * mla.value_dim, {"self_attn.o_proj"}});
}

void add_grouped_attention(const Transformer& model, const AttentionShape& shape,
                           std::vector<Projection>& found) {
  const auto hidden = static_cast<double>(model.hidden);
  const double query = double{1} * shape.query_heads * shape.head_dim;
  const double key = double{1} * shape.kv_heads * shape.head_dim;
  const double value_dim = shape.value_dim > 0 ? shape.value_dim : shape.head_dim;
  found.push_back(
      {"q_proj", hidden * query, {"self_attn.q_proj", "self_attn.qkv_proj", "mixer.q_proj"}});
  found.push_back(
      {"k_proj", hidden * key, {"self_attn.k_proj", "self_attn.qkv_proj", "mixer.k_proj"}});
  found.push_back({"v_proj",
                   hidden * shape.kv_heads * value_dim,
                   {"self_attn.v_proj", "self_attn.qkv_proj", "mixer.v_proj"}});
  found.push_back({"o_proj",
                   hidden * shape.query_heads * value_dim,
                   {"self_attn.o_proj", "self_attn.out_proj", "mixer.o_proj"}});
}

std::vector<Projection> attention(const Transformer& model, int layer) {
  const LayerKind* kind = model.kind(layer);
  std::vector<Projection> found;
  if (has_recurrence(kind)) add_recurrence(model, *kind->state, found);
  if (kind != nullptr && !kind->has_attention) return found;
  if (model.compressed) {
    // Its other products are small beside this one.
    found.push_back({"wo_b", 1, {"attn.wo_b", "self_attn.o_proj"}});
  } else if (model.mla) {
    add_latent_attention(model, found);
  } else {
    add_grouped_attention(model, model.attention(layer), found);
  }
  return found;
}

using Spellings = std::vector<std::string_view>;

std::vector<Projection> gated(const Transformer& model, double width, Spellings gate, Spellings up,
                              Spellings down) {
  const double parameters = static_cast<double>(model.hidden) * width;
  std::vector<Projection> found;
  if (!model.ungated_mlp) found.push_back({"gate_proj", parameters, std::move(gate)});
  found.push_back({"up_proj", parameters, std::move(up)});
  found.push_back({"down_proj", parameters, std::move(down)});
  return found;
}

std::vector<Projection> mlp(const Transformer& model, std::int64_t width) {
  return gated(model, static_cast<double>(width),
               {"mlp.gate_proj", "mlp.gate_up_proj", "feed_forward.gate_proj", "feed_forward.w1"},
               {"mlp.up_proj", "mlp.gate_up_proj", "feed_forward.up_proj", "feed_forward.w3",
                "mixer.up_proj"},
               {"mlp.down_proj", "feed_forward.down_proj", "feed_forward.w2", "mixer.down_proj"});
}

/// Gemma 4 has experts beside the MLP of each layer, which is counted as a shared one.
bool has_experts_beside_mlp(std::string_view architecture) {
  return architecture.starts_with("Gemma4");
}

std::vector<Projection> shared_experts(const Transformer& model, std::string_view architecture) {
  if (has_experts_beside_mlp(architecture)) return mlp(model, model.moe->shared_intermediate);
  return gated(model, static_cast<double>(model.moe->shared_intermediate),
               {"mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj",
                "feed_forward.shared_expert.gate_proj", "share_expert.gate_proj",
                "block_sparse_moe.shared_experts.gate_proj", "ffn.shared_experts.w1",
                "ffn.shared_experts.gate_proj"},
               {"mlp.shared_experts.up_proj", "mlp.shared_expert.up_proj",
                "feed_forward.shared_expert.up_proj", "share_expert.up_proj",
                "mixer.shared_experts.up_proj", "block_sparse_moe.shared_experts.up_proj",
                "ffn.shared_experts.w3", "ffn.shared_experts.up_proj"},
               {"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj",
                "feed_forward.shared_expert.down_proj", "share_expert.down_proj",
                "mixer.shared_experts.down_proj", "block_sparse_moe.shared_experts.down_proj",
                "ffn.shared_experts.w2", "ffn.shared_experts.down_proj"});
}

std::vector<Projection> experts(const Transformer& model, std::string_view architecture) {
  const auto width = static_cast<double>(model.moe->intermediate);
  if (has_experts_beside_mlp(architecture)) {
    return gated(model, width, {"experts.0.gate_proj", "moe.experts.0.gate_proj"},
                 {"experts.0.up_proj", "moe.experts.0.up_proj"},
                 {"experts.0.down_proj", "moe.experts.0.down_proj"});
  }
  return gated(
      model, width,
      {"mlp.experts.0.gate_proj", "block_sparse_moe.experts.0.w1",
       "feed_forward.experts.0.gate_proj", "moe.experts.0.gate_proj", "experts.0.gate_proj",
       "ffn.experts.0.w1", "ffn.experts.0.gate_proj"},
      {"mlp.experts.0.up_proj", "block_sparse_moe.experts.0.w3", "feed_forward.experts.0.up_proj",
       "moe.experts.0.up_proj", "experts.0.up_proj", "mixer.experts.0.up_proj", "ffn.experts.0.w3",
       "ffn.experts.0.up_proj"},
      {"mlp.experts.0.down_proj", "block_sparse_moe.experts.0.w2",
       "feed_forward.experts.0.down_proj", "moe.experts.0.down_proj", "experts.0.down_proj",
       "mixer.experts.0.down_proj", "ffn.experts.0.w2", "ffn.experts.0.down_proj"});
}

}  // namespace

std::optional<ModulePatterns> ModulePatterns::read(const std::vector<std::string>& patterns) {
  constexpr std::string_view expression = "re:";
  ModulePatterns read;
  for (const std::string& pattern : patterns) {
    if (pattern.starts_with(expression)) {
      auto compiled = read_expression(std::string_view(pattern).substr(expression.size()));
      if (!compiled) return std::nullopt;
      read.expressions_.push_back(std::move(*compiled));
    } else if (pattern.find('*') != std::string::npos) {
      read.globs_.push_back(pattern);
      read.globs_.push_back(pattern + ".*");  // and all below it
    } else {
      read.names_.insert(pattern);
    }
  }
  return read;
}

bool ModulePatterns::cover(std::string_view module) const {
  const auto glob = [&](const std::string& pattern) { return matches_glob(pattern, module); };
  const auto expression = [&](const std::regex& pattern) {
    return std::regex_search(module.begin(), module.end(), pattern,
                             std::regex_constants::match_continuous);
  };
  return (!names_.empty() && has_run_among(module, names_)) || std::ranges::any_of(globs_, glob) ||
         std::ranges::any_of(expressions_, expression);
}

std::vector<Projection> projections(const Transformer& model, std::string_view architecture,
                                    QuantisedPart part, int layer) {
  if (part == QuantisedPart::attention) return attention(model, layer);
  const LayerKind* kind = model.kind(layer);
  if (kind != nullptr && (!kind->has_mlp || kind->linear_mlp)) return {};
  const bool has_experts = model.is_moe_layer(layer);
  switch (part) {
    case QuantisedPart::mlp:
      return has_experts ? std::vector<Projection>() : mlp(model, model.dense_width(layer));
    case QuantisedPart::shared_experts:
      return has_experts && model.moe->shared_intermediate > 0 ? shared_experts(model, architecture)
                                                               : std::vector<Projection>();
    default:
      return has_experts ? experts(model, architecture) : std::vector<Projection>();
  }
}

bool is_covered(const Projection& projection, int layer, const ModulePatterns& patterns) {
  for (const std::string_view prefix : prefixes) {
    for (const std::string_view spelling : projection.spellings) {
      if (patterns.cover(fmt::format("{}.{}.{}", prefix, layer, spelling))) return true;
    }
  }
  return false;
}

}  // namespace foretoken

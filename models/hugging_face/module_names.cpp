#include "models/hugging_face/module_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>
#include <span>

namespace foretoken {
namespace {

/// How checkpoints name the layers of the language model.
constexpr auto prefixes =
    std::to_array<std::string_view>({"model.layers", "language_model.model.layers",
                                     "model.language_model.layers", "backbone.layers", "layers"});

// Recurrences count as attention.
constexpr auto attention =
    std::to_array<std::string_view>({"self_attn.o_proj", "linear_attn.out_proj", "mixer.out_proj",
                                     "mixer.o_proj", "mamba.out_proj", "conv.out_proj"});
constexpr auto compressed_attention =
    std::to_array<std::string_view>({"attn.wo_b", "self_attn.o_proj"});
constexpr auto mlp = std::to_array<std::string_view>(
    {"mlp.down_proj", "feed_forward.down_proj", "mixer.down_proj", "feed_forward.w2"});
constexpr auto shared_experts = std::to_array<std::string_view>(
    {"mlp.shared_experts.down_proj", "mlp.shared_expert.down_proj",
     "feed_forward.shared_expert.down_proj", "share_expert.down_proj",
     "mixer.shared_experts.down_proj", "block_sparse_moe.shared_experts.down_proj",
     "ffn.shared_experts.w2", "ffn.shared_experts.down_proj"});
constexpr auto experts = std::to_array<std::string_view>(
    {"mlp.experts.0.down_proj", "block_sparse_moe.experts.0.w2", "feed_forward.experts.0.down_proj",
     "moe.experts.0.down_proj", "experts.0.down_proj", "mixer.experts.0.down_proj",
     "ffn.experts.0.w2", "ffn.experts.0.down_proj"});

std::span<const std::string_view> modules(QuantisedPart part) {
  switch (part) {
    case QuantisedPart::attention:
      return attention;
    case QuantisedPart::compressed_attention:
      return compressed_attention;
    case QuantisedPart::mlp:
      return mlp;
    case QuantisedPart::shared_experts:
      return shared_experts;
    case QuantisedPart::experts:
      break;
  }
  return experts;
}

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

/// `part` as whole words between dots of `name`.
bool contains_words(std::string_view name, std::string_view part) {
  for (std::size_t at = name.find(part); at != std::string_view::npos;
       at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    const bool begins = at == 0 || name[at - 1] == '.';
    if (begins && (end == name.size() || name[end] == '.')) return true;
  }
  return false;
}

bool matches_expression(std::string_view pattern, std::string_view name, bool& is_valid) {
  // In polynomial time, and no deeper than the name is long: files are not ours.
  constexpr std::size_t length_max = 400;
  if (pattern.size() > length_max) return is_valid = false;
  try {
    const std::regex expression(std::string(pattern),
                                std::regex::ECMAScript | std::regex_constants::__polynomial);
    return std::regex_search(name.begin(), name.end(), expression,
                             std::regex_constants::match_continuous);
  } catch (const std::regex_error&) {
    return is_valid = false;
  }
}

bool matches(std::string_view pattern, const std::string& name, bool& is_valid) {
  constexpr std::string_view expression = "re:";
  if (pattern.starts_with(expression)) {
    return matches_expression(pattern.substr(expression.size()), name, is_valid);
  }
  if (pattern.find('*') != std::string_view::npos) {
    return matches_glob(pattern, name) || matches_glob(fmt::format("{}.*", pattern), name);
  }
  return !pattern.empty() && contains_words(name, pattern);
}

}  // namespace

bool covers(std::string_view pattern, QuantisedPart part, int layer, bool& is_valid) {
  for (const std::string_view prefix : prefixes) {
    for (const std::string_view module : modules(part)) {
      if (matches(pattern, fmt::format("{}.{}.{}", prefix, layer, module), is_valid)) return true;
    }
  }
  return false;
}

}  // namespace foretoken

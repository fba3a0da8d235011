// What a quantisation block means for the parts of a model: the format that most layers have each
// part in. Layers that differ from the rest are told, and counted as it.
#include "models/hugging_face/quantisation.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "models/hugging_face/module_names.hpp"
#include "models/hugging_face/quantisation_block.hpp"

namespace foretoken {
namespace {

/// A block's rules, ready to be asked for many modules.
class Formats {
 public:
  /// nullopt: one of its regular expressions cannot be read.
  static std::optional<Formats> read(const QuantisationBlock& block) {
    Formats formats;
    for (const QuantisationRule& rule : block.rules) {
      auto targets = ModulePatterns::read(rule.targets);
      if (!targets) return std::nullopt;
      const bool is_all = std::ranges::find(rule.targets, "Linear") != rule.targets.end();
      formats.rules_.push_back({std::move(*targets), is_all, rule.dtype});
    }
    auto ignored = ModulePatterns::read(block.ignored);
    if (!ignored) return std::nullopt;
    formats.ignored_ = std::move(*ignored);
    return formats;
  }

  [[nodiscard]] DType of(const Projection& projection, int layer) const {
    if (is_covered(projection, layer, ignored_)) return DType::bf16;
    for (const Rule& rule : std::views::reverse(rules_)) {
      if (rule.is_all || is_covered(projection, layer, rule.targets)) return rule.dtype;
    }
    return DType::bf16;
  }

  /// Of the LM head where it is named, not one of all.
  [[nodiscard]] DType of_head() const {
    constexpr std::string_view head = "lm_head";
    if (ignored_.cover(head)) return DType::bf16;
    for (const Rule& rule : std::views::reverse(rules_)) {
      if (rule.targets.cover(head)) return rule.dtype;
    }
    return DType::bf16;
  }

 private:
  struct Rule {
    ModulePatterns targets;
    bool is_all = false;
    DType dtype = DType::bf16;
  };
  std::vector<Rule> rules_;
  ModulePatterns ignored_;
};

constexpr std::string_view part_name(QuantisedPart part) {
  switch (part) {
    case QuantisedPart::attention:
      return "attention";
    case QuantisedPart::mlp:
      return "dense MLPs";
    case QuantisedPart::shared_experts:
      return "shared experts";
    default:
      return "experts";
  }
}

/// The format that most of a layer's part is in, and the products of it that are in another one.
struct LayerFormat {
  DType dtype = DType::bf16;
  std::vector<std::string_view> others;
  DType dtype_of_others = DType::bf16;
};

LayerFormat format_in(const std::vector<Projection>& parts, const Formats& formats, int layer) {
  std::vector<DType> dtypes;
  std::map<DType, double> parameters;
  for (const Projection& one : parts) {
    dtypes.push_back(formats.of(one, layer));
    parameters[dtypes.back()] += one.parameters;
  }
  const auto most =
      std::ranges::max_element(parameters, {}, &std::pair<const DType, double>::second);
  LayerFormat found;
  found.dtype = most->first;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (dtypes[i] == found.dtype) continue;
    found.others.push_back(parts[i].name);
    found.dtype_of_others = dtypes[i];
  }
  return found;
}

/// The format that most layers have the part in. Layers and products in others are told.
std::optional<DType> format_of_part(const Formats& formats, std::string_view architecture,
                                    QuantisedPart part, Transformer& model) {
  std::map<DType, int> layers;
  LayerFormat mixed;
  int mixed_layers = 0;
  for (int layer = 0; layer < model.layers; ++layer) {
    const auto parts = projections(model, architecture, part, layer);
    if (parts.empty()) continue;
    LayerFormat found = format_in(parts, formats, layer);
    ++layers[found.dtype];
    if (!found.others.empty() && mixed_layers++ == 0) mixed = std::move(found);
  }
  if (layers.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(layers, {}, &std::pair<const DType, int>::second);
  for (const auto& [dtype, count] : layers) {
    if (dtype == most->first) continue;
    model.left_out.push_back(
        fmt::format("{} of {} layers keep {} in {}: counted in {} like the rest", count,
                    model.layers, part_name(part), enum_name(dtype), enum_name(most->first)));
  }
  if (mixed_layers > 0) {
    model.left_out.push_back(
        fmt::format("{} of {} layers keep {} of {} in {}: counted in {} like most of it",
                    mixed_layers, model.layers, fmt::join(mixed.others, ", "), part_name(part),
                    enum_name(mixed.dtype_of_others), enum_name(most->first)));
  }
  return most->first;
}

}  // namespace

void read_quantisation(const Value* block, std::string_view architecture, Diagnostics& diagnostics,
                       Transformer& model) {
  if (block == nullptr) return;
  if (!block->is_object()) {
    diagnostics.add(block->position,
                    fmt::format("quantization_config: must be an object, not {}; without one the "
                                "weights are in 16 bit",
                                type_name(*block)));
    return;
  }
  if (std::get<ValueObject>(block->data).empty()) return;
  const auto read = read_quantisation_block(*block, diagnostics);
  if (!read || model.layers == 0) return;
  model.left_out.insert(model.left_out.end(), read->left_out.begin(), read->left_out.end());
  model.kv_released = read->kv;
  const auto rules = Formats::read(*read);
  if (!rules) {
    diagnostics.add(block->position,
                    "quantization_config: one of the regular expressions that "
                    "name modules cannot be read");
    return;
  }
  const auto part = [&](QuantisedPart which) {
    return format_of_part(*rules, architecture, which, model);
  };
  const auto attention = part(QuantisedPart::attention);
  const auto experts = part(QuantisedPart::experts);
  const auto shared = part(QuantisedPart::shared_experts);
  const auto mlp = part(QuantisedPart::mlp);
  if (const DType head = rules->of_head(); head != DType::bf16) {
    model.left_out.push_back(
        fmt::format("the LM head is published in {}: counted in bf16", enum_name(head)));
  }
  // "dtype" is that of dense MLPs; without any, attention's, so that as much as can be shares it.
  WeightFormats formats(mlp.value_or(attention.value_or(DType::bf16)));
  formats.attention = attention.value_or(formats.linear);
  formats.experts = experts.value_or(formats.linear);
  formats.shared = shared.value_or(formats.linear);
  if (formats != WeightFormats()) {
    model.released = formats;
  } else {
    model.left_out.emplace_back(
        "its quantization_config covers none of its weights: counted in bf16");
  }
}

}  // namespace foretoken

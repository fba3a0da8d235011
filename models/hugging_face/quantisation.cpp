// What a quantisation block means for the parts of a model: the format that most layers have each
// part in. Layers that differ from the rest are told, and counted as it.
#include "models/hugging_face/quantisation.hpp"

#include <algorithm>
#include <map>

#include "models/hugging_face/module_names.hpp"
#include "models/hugging_face/quantisation_block.hpp"

namespace foretoken {
namespace {

/// The format of a part of one layer.
DType format_in(const QuantisationBlock& block, QuantisedPart part, int layer, bool& is_valid) {
  DType dtype = DType::bf16;
  const auto is_covered = [&](const std::string& pattern) {
    return covers(pattern, part, layer, is_valid);
  };
  for (const QuantisationRule& rule : block.rules) {
    const bool is_all = std::ranges::find(rule.targets, "Linear") != rule.targets.end();
    if (is_all || std::ranges::any_of(rule.targets, is_covered)) dtype = rule.dtype;
  }
  return std::ranges::any_of(block.ignored, is_covered) ? DType::bf16 : dtype;
}

bool has_part(const Transformer& model, QuantisedPart part, int layer) {
  const LayerKind* kind = model.kind(layer);
  if (part == QuantisedPart::attention || part == QuantisedPart::compressed_attention) {
    return kind == nullptr || kind->has_attention || kind->state.has_value();
  }
  if (kind != nullptr && (!kind->has_mlp || kind->linear_mlp)) return false;
  const bool has_experts = model.is_moe_layer(layer);
  switch (part) {
    case QuantisedPart::mlp:
      return !has_experts;
    case QuantisedPart::shared_experts:
      return has_experts && model.moe->shared_intermediate > 0;
    default:
      return has_experts;
  }
}

constexpr std::string_view part_name(QuantisedPart part) {
  switch (part) {
    case QuantisedPart::attention:
    case QuantisedPart::compressed_attention:
      return "attention";
    case QuantisedPart::mlp:
      return "dense MLPs";
    case QuantisedPart::shared_experts:
      return "shared experts";
    default:
      return "experts";
  }
}

/// The format that most layers have the part in; the others are told.
std::optional<DType> format_of_part(const QuantisationBlock& block, QuantisedPart part,
                                    bool& is_valid, Transformer& model) {
  std::map<DType, int> layers;
  for (int layer = 0; layer < model.layers && is_valid; ++layer) {
    if (has_part(model, part, layer)) ++layers[format_in(block, part, layer, is_valid)];
  }
  if (layers.empty()) return std::nullopt;
  const auto most =
      std::ranges::max_element(layers, {}, [](const auto& entry) { return entry.second; });
  for (const auto& [dtype, count] : layers) {
    if (dtype == most->first) continue;
    model.left_out.push_back(
        fmt::format("{} of {} layers keep {} in {}: counted in {} like the rest", count,
                    model.layers, part_name(part), enum_name(dtype), enum_name(most->first)));
  }
  return most->first;
}

}  // namespace

void read_quantisation(const Value* block, Diagnostics& diagnostics, Transformer& model) {
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
  bool is_valid = true;
  const auto part = [&](QuantisedPart which) {
    return format_of_part(*read, which, is_valid, model);
  };
  const auto attention =
      part(model.compressed ? QuantisedPart::compressed_attention : QuantisedPart::attention);
  const auto experts = part(QuantisedPart::experts);
  const auto shared = part(QuantisedPart::shared_experts);
  const auto mlp = part(QuantisedPart::mlp);
  if (!is_valid) {
    diagnostics.add(block->position,
                    "quantization_config: one of the regular expressions that "
                    "name modules cannot be read");
    return;
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

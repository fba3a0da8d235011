// Sources: transformers' quantizers, vLLM 0.24's quantization configs and ModelOpt's export, which
// write these blocks, as do 60 published files of late 2026.
#include "models/hugging_face/quantisation.hpp"

#include <algorithm>
#include <map>

#include "models/hugging_face/module_names.hpp"
#include "models/hugging_face/weight_format.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

/// Modules and the format of those that it covers; "Linear" is every module.
struct Rule {
  std::vector<std::string> targets;
  DType dtype = DType::bf16;
};

/// What a block says: the last rule that covers a module decides; modules that are ignored stay in
/// 16 bit.
struct Block {
  std::vector<Rule> rules;
  std::vector<std::string> ignored;
};

class BlockReader {
 public:
  BlockReader(const Value& value, Diagnostics& diagnostics)
      : table_(value, diagnostics, "quantization_config") {}

  std::optional<Block> read() {
    std::string method;
    table_.read("quant_method", method);
    std::ranges::transform(method, method.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const char* key :
         {"ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules"}) {
      std::vector<std::string> names;
      if (table_.read(key, names))
        block_.ignored.insert(block_.ignored.end(), names.begin(), names.end());
    }
    // ModelOpt's own file has no quant_method, and its fields one level down.
    if (method.empty() && table_.find("quant_algo") != nullptr) method = "modelopt";
    if (!read_method(method)) return std::nullopt;
    return block_;
  }

 private:
  bool read_method(const std::string& method) {
    if (method == "fp8" || method == "fbgemm_fp8") return read_fp8();
    if (method == "mxfp4") return add({"experts"}, {DType::mxfp4, ""}, "quant_method");
    if (method == "awq" || method == "gptq" || method == "awq_marlin" || method == "gptq_marlin" ||
        method == "auto-round" || method == "autoround" || method == "intel/auto-round") {
      return read_weight_only();
    }
    if (method == "compressed-tensors" || method == "compressed_tensors") return read_groups();
    if (method.starts_with("modelopt")) return read_modelopt();
    if (method == "bitsandbytes") {
      return refuse(
          "is bitsandbytes, whose kernels nobody has measured; for its memory, describe "
          "the model in TOML with dtype = \"w4a16_g32\" (4 bit) or \"w8a16\" (8 bit)");
    }
    const std::vector<std::string_view> known = {"awq",        "compressed-tensors", "fp8",  "gptq",
                                                 "auto-round", "modelopt",           "mxfp4"};
    return refuse(fmt::format("{}; describe the model in TOML with the nearest dtype",
                              unknown_name_message("method", method, known)));
  }

  bool refuse(const std::string& why) {
    table_.fail("quant_method", why);
    return false;
  }

  bool add(std::vector<std::string> targets, const FormatFound& found, std::string_view key) {
    if (!found.dtype) return table_.fail(key, found.problem);
    block_.rules.push_back({std::move(targets), *found.dtype});
    return true;
  }

  bool read_fp8() {
    const bool has_blocks = table_.find("weight_block_size") != nullptr;
    return add({"Linear"}, {has_blocks ? DType::fp8_block : DType::fp8, ""}, "quant_method");
  }

  bool read_weight_only() {
    std::int64_t bits = 4, group = 128;
    table_.read("bits", bits);
    table_.read("w_bit", bits);
    table_.read("group_size", group);
    table_.read("q_group_size", group);
    // What gives single modules other bits.
    for (const char* key : {"dynamic", "extra_config", "modules_in_block_to_quantize"}) {
      const Value* overrides = table_.find(key);
      if (overrides == nullptr || is_empty(*overrides)) continue;
      return table_.fail(key,
                         "gives some modules a format of their own, which is not read; "
                         "describe the model in TOML");
    }
    return add({"Linear"}, weight_only_format(bits, group), "bits");
  }

  static bool is_empty(const Value& value) {
    if (value.is_object()) return std::get<ValueObject>(value.data).empty();
    return value.is_array() && std::get<ValueArray>(value.data).empty();
  }

  bool read_groups() {
    const Value* sparsity = table_.find("sparsity_config");
    if (sparsity != nullptr && sparsity->is_object()) {
      const Value* format = sparsity->find("format");
      const bool is_dense = is_empty(*sparsity) || (format != nullptr && format->is_string() &&
                                                    std::get<std::string>(format->data) == "dense");
      if (!is_dense) return table_.fail("sparsity_config", "sparse weights cannot be expanded");
    }
    const Value* groups = table_.find_table("config_groups");
    if (groups == nullptr) return table_.fail("config_groups", "is missing");
    for (const auto& [name, value] : std::get<ValueObject>(groups->data)) {
      if (!value.is_object()) return table_.fail("config_groups", "must hold tables");
      TableReader group(value, table_.diagnostics(), "config_groups." + name);
      std::vector<std::string> targets = {"Linear"};
      group.read("targets", targets);
      if (!add(std::move(targets), group_format(group), "config_groups")) return false;
    }
    return true;
  }

  bool read_modelopt() {
    std::int64_t group = 128;
    table_.read("group_size", group);
    if (const Value* layers = table_.find("quantized_layers");
        layers != nullptr && layers->is_object()) {
      for (const auto& [name, value] : std::get<ValueObject>(layers->data)) {
        const Value* own = value.is_object() ? value.find("quant_algo") : nullptr;
        if (own == nullptr || !own->is_string()) continue;
        if (!add({name}, modelopt_format(std::get<std::string>(own->data), group),
                 "quantized_layers")) {
          return false;
        }
      }
      return true;
    }
    if (const Value* groups = table_.find("config_groups");
        groups != nullptr && groups->is_object() && !is_empty(*groups)) {
      return read_groups();
    }
    std::string algorithm;
    if (!table_.require("quant_algo", algorithm)) return false;
    return add({"Linear"}, modelopt_format(algorithm, group), "quant_algo");
  }

  TableReader table_;
  Block block_;
};

/// The format of a part of one layer.
DType format_in(const Block& block, QuantisedPart part, int layer, bool& is_valid) {
  DType dtype = DType::bf16;
  const auto is_covered = [&](const std::string& pattern) {
    return covers(pattern, part, layer, is_valid);
  };
  for (const Rule& rule : block.rules) {
    const bool is_all = std::ranges::find(rule.targets, "Linear") != rule.targets.end();
    if (is_all || std::ranges::any_of(rule.targets, is_covered)) dtype = rule.dtype;
  }
  return std::ranges::any_of(block.ignored, is_covered) ? DType::bf16 : dtype;
}

bool has_part(const Transformer& model, QuantisedPart part, int layer) {
  const LayerKind* kind = model.kind(layer);
  if (part == QuantisedPart::attention) {
    return kind == nullptr || kind->has_attention || kind->state.has_value();
  }
  if (kind != nullptr && !kind->has_mlp) return false;
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
std::optional<DType> format_of_part(const Block& block, QuantisedPart part, bool& is_valid,
                                    Transformer& model) {
  std::map<DType, int> layers;
  for (int layer = 0; layer < model.layers && is_valid; ++layer) {
    if (has_part(model, part, layer)) ++layers[format_in(block, part, layer, is_valid)];
  }
  if (layers.empty()) return std::nullopt;
  const auto most =
      std::ranges::max_element(layers, {}, [](const auto& entry) { return entry.second; });
  for (const auto& [dtype, count] : layers) {
    if (dtype == most->first) continue;
    model.left_out.push_back(fmt::format("{} of {} layers keep {} in {}: counted in {} as the rest",
                                         count, model.layers, part_name(part), enum_name(dtype),
                                         enum_name(most->first)));
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
  const std::optional<Block> read = BlockReader(*block, diagnostics).read();
  if (!read || model.layers == 0) return;
  bool is_valid = true;
  const auto part = [&](QuantisedPart which) {
    return format_of_part(*read, which, is_valid, model);
  };
  const auto attention = part(QuantisedPart::attention);
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
        "its quantization_config names none of its weights: counted in bf16");
  }
}

}  // namespace foretoken

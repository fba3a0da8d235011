// Sources: transformers' quantizers, vLLM 0.24's quantization configs, ModelOpt's, AMD Quark's and
// torchao's exports, which write these blocks, as do 60 published files of late 2026.
#include "models/hugging_face/quantisation_block.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "models/hugging_face/weight_format.hpp"
#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

bool is_empty(const Value& value) {
  if (value.is_object()) return std::get<ValueObject>(value.data).empty();
  return value.is_array() && std::get<ValueArray>(value.data).empty();
}

class BlockReader {
 public:
  BlockReader(const Value& value, Diagnostics& diagnostics)
      : table_(value, diagnostics, "quantization_config") {}

  std::optional<QuantisationBlock> read() {
    std::string method;
    table_.read("quant_method", method);
    std::ranges::transform(method, method.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    for (const char* key : {"ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules",
                            "exclude", "llm_int8_skip_modules"}) {
      std::vector<std::string> names;
      if (table_.read(key, names))
        block_.ignored.insert(block_.ignored.end(), names.begin(), names.end());
    }
    read_kv_format();
    // ModelOpt's own file has no quant_method, and its fields one level down.
    if (method.empty() && table_.find("quant_algo") != nullptr) method = "modelopt";
    if (!read_method(method)) return std::nullopt;
    return block_;
  }

 private:
  struct Method {
    std::string_view name;
    bool (BlockReader::*read)();
  };

  /// Of 8 bits in both ways to say it; engines keep others in that of the activations.
  void read_kv_format() {
    std::string algorithm;
    if (table_.read("kv_cache_quant_algo", algorithm) && algorithm == "FP8") block_.kv = DType::fp8;
    const Value* scheme = table_.find("kv_cache_scheme");
    if (scheme == nullptr || !scheme->is_object()) return;
    TableReader kv(*scheme, table_.diagnostics(), "kv_cache_scheme");
    std::string type;
    std::int64_t bits = 16;
    kv.read("type", type);
    kv.read("num_bits", bits);
    if (bits == 8 && type == "float") block_.kv = DType::fp8;
  }

  bool read_method(const std::string& method) {
    static constexpr auto methods =
        std::to_array<Method>({{"awq", &BlockReader::read_weight_only},
                               {"awq_marlin", &BlockReader::read_weight_only},
                               {"gptq", &BlockReader::read_weight_only},
                               {"gptq_marlin", &BlockReader::read_weight_only},
                               {"auto-round", &BlockReader::read_weight_only},
                               {"autoround", &BlockReader::read_weight_only},
                               {"intel/auto-round", &BlockReader::read_weight_only},
                               {"bitsandbytes", &BlockReader::read_bitsandbytes},
                               {"compressed-tensors", &BlockReader::read_groups},
                               {"compressed_tensors", &BlockReader::read_groups},
                               {"fp8", &BlockReader::read_fp8},
                               {"fbgemm_fp8", &BlockReader::read_fp8},
                               {"modelopt", &BlockReader::read_modelopt},
                               {"modelopt_fp4", &BlockReader::read_modelopt},
                               {"modelopt_mixed", &BlockReader::read_modelopt},
                               {"modelopt_mxfp8", &BlockReader::read_modelopt},
                               {"mxfp4", &BlockReader::read_mxfp4},
                               {"mxfp8", &BlockReader::read_mxfp8},
                               {"quark", &BlockReader::read_quark},
                               {"torchao", &BlockReader::read_torchao}});
    const auto found = std::ranges::find(methods, method, &Method::name);
    if (found != methods.end()) return (this->*found->read)();
    std::vector<std::string_view> known;
    for (const Method& one : methods) known.push_back(one.name);
    return table_.fail("quant_method", fmt::format("{}; describe the model in TOML with the "
                                                   "nearest dtype",
                                                   unknown_name_message("method", method, known)));
  }

  bool add(std::vector<std::string> targets, const FormatFound& found, std::string_view key) {
    if (!found.dtype) return table_.fail(key, found.problem);
    if (!found.left_out.empty() &&
        std::ranges::find(block_.left_out, found.left_out) == block_.left_out.end()) {
      block_.left_out.push_back(found.left_out);
    }
    block_.rules.push_back({std::move(targets), *found.dtype});
    return true;
  }
  bool add_all(const FormatFound& found, std::string_view key) {
    return add({"Linear"}, found, key);
  }

  bool read_fp8() {
    const bool has_blocks = table_.find("weight_block_size") != nullptr;
    return add_all({.dtype = has_blocks ? DType::fp8_block : DType::fp8}, "quant_method");
  }

  bool read_mxfp4() { return add({"experts"}, {.dtype = DType::mxfp4}, "quant_method"); }
  bool read_mxfp8() { return add_all(modelopt_format("MXFP8", 0), "quant_method"); }

  bool read_weight_only() {
    std::int64_t bits = 4, group = 128;
    table_.read("bits", bits);
    table_.read("w_bit", bits);
    table_.read("group_size", group);
    table_.read("q_group_size", group);
    bool has_head = false;
    table_.read("lm_head", has_head);
    if (has_head && !add({"lm_head"}, weight_only_format(bits, group), "bits")) return false;
    if (const Value* listed = table_.find("modules_in_block_to_quantize");
        listed != nullptr && !is_empty(*listed)) {
      return add(names_in(*listed), weight_only_format(bits, group), "bits");
    }
    return add_all(weight_only_format(bits, group), "bits") &&
           read_overrides("dynamic", bits, group) && read_overrides("extra_config", bits, group);
  }

  /// Lists of names, in as many levels as there are.
  static std::vector<std::string> names_in(const Value& value) {
    if (value.is_string()) return {std::get<std::string>(value.data)};
    std::vector<std::string> names;
    if (!value.is_array()) return names;
    for (const Value& inner : std::get<ValueArray>(value.data)) {
      const auto more = names_in(inner);
      names.insert(names.end(), more.begin(), more.end());
    }
    return names;
  }

  /// Modules with bits of their own: GPTQModel's "dynamic" (expressions, "-:" before those that
  /// stay in 16 bit) and AutoRound's "extra_config" (names).
  bool read_overrides(std::string_view key, std::int64_t bits, std::int64_t group) {
    const Value* overrides = table_.find(key);
    if (overrides == nullptr || !overrides->is_object()) return true;
    for (const auto& [written, value] : std::get<ValueObject>(overrides->data)) {
      std::string_view pattern = written;
      const bool is_left_out = pattern.starts_with("-:");
      if (is_left_out || pattern.starts_with("+:")) pattern.remove_prefix(2);
      std::string target = key == "dynamic" ? fmt::format("re:{}", pattern) : std::string(pattern);
      std::int64_t own_bits = bits, own_group = group;
      if (value.is_object()) {
        TableReader own(value, table_.diagnostics(), fmt::format("{}.{}", key, written));
        own.read("bits", own_bits);
        own.read("group_size", own_group);
      }
      constexpr std::int64_t bits_unquantised = 16;
      if (is_left_out || own_bits >= bits_unquantised) {
        block_.ignored.push_back(std::move(target));
      } else if (!add({std::move(target)}, weight_only_format(own_bits, own_group), key)) {
        return false;
      }
    }
    return true;
  }

  bool read_bitsandbytes() {
    bool is_8_bit = false, is_twice = false;
    table_.read("load_in_8bit", is_8_bit);
    table_.read("bnb_4bit_use_double_quant", is_twice);
    // 4 bits a weight and a scale of 32 bits for 64, which quantised in turn takes 8 bits.
    const DType dtype = is_8_bit ? DType::w8a16 : is_twice ? DType::w4a16 : DType::w4a16_g32;
    return add_all({.dtype = dtype,
                    .left_out = fmt::format(
                        "bitsandbytes: sized as such, but its kernels are unmeasured: priced as {}",
                        enum_name(dtype))},
                   "quant_method");
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
    // The whole of ModelOpt's own file as it is, where a config.json holds that.
    const Value* inner = table_.find("quantization");
    if (inner != nullptr && inner->is_object() && table_.find("quant_algo") == nullptr) {
      const auto read = read_quantisation_block(*inner, table_.diagnostics());
      if (read) block_ = *read;
      return read.has_value();
    }
    std::int64_t group = 128;
    table_.read("group_size", group);
    if (const Value* layers = table_.find("quantized_layers");
        layers != nullptr && layers->is_object()) {
      return read_modelopt_layers(*layers, group);
    }
    if (const Value* groups = table_.find("config_groups");
        groups != nullptr && groups->is_object() && !is_empty(*groups)) {
      return read_groups();
    }
    std::string algorithm;
    if (!table_.require("quant_algo", algorithm)) return false;
    return add_all(modelopt_format(algorithm, group), "quant_algo");
  }

  bool read_modelopt_layers(const Value& layers, std::int64_t group) {
    for (const auto& [name, value] : std::get<ValueObject>(layers.data)) {
      const Value* own = value.is_object() ? value.find("quant_algo") : nullptr;
      if (own == nullptr || !own->is_string()) continue;
      if (!add({name}, modelopt_format(std::get<std::string>(own->data), group),
               "quantized_layers")) {
        return false;
      }
    }
    return true;
  }

  bool read_quark() {
    const Value* all = table_.find_table("global_quant_config");
    if (all == nullptr) return table_.fail("global_quant_config", "is missing");
    TableReader global(*all, table_.diagnostics(), "global_quant_config");
    if (!add_all(quark_format(global), "global_quant_config")) return false;
    const Value* layers = table_.find("layer_quant_config");
    if (layers == nullptr || !layers->is_object()) return true;
    for (const auto& [name, value] : std::get<ValueObject>(layers->data)) {
      if (!value.is_object()) return table_.fail("layer_quant_config", "must hold tables");
      TableReader own(value, table_.diagnostics(), "layer_quant_config." + name);
      if (!add({name}, quark_format(own), "layer_quant_config")) return false;
    }
    return true;
  }

  bool read_torchao() {
    const Value* type = table_.find("quant_type");
    const Value* named = type != nullptr && type->is_object() ? type->find("default") : type;
    const Value* inner = named != nullptr && named->is_object() ? named->find("_type") : named;
    if (inner == nullptr || !inner->is_string()) {
      return table_.fail("quant_type", "must name a type of torchao's");
    }
    std::int64_t group = 128;
    if (const Value* data = named->is_object() ? named->find("_data") : nullptr;
        data != nullptr && data->is_object()) {
      TableReader(*data, table_.diagnostics(), "quant_type").read("group_size", group);
    }
    return add_all(torchao_format(std::get<std::string>(inner->data), group), "quant_type");
  }

  TableReader table_;
  QuantisationBlock block_;
};

}  // namespace

std::optional<QuantisationBlock> read_quantisation_block(const Value& value,
                                                         Diagnostics& diagnostics) {
  return BlockReader(value, diagnostics).read();
}

}  // namespace foretoken

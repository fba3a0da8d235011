#include "models/hugging_face/weight_format.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/nearest_name.hpp"

namespace foretoken {
namespace {

/// "weights" or "input_activations" of a group.
struct Numbers {
  std::int64_t bits = 16, group = 0;
  std::string type = "float", strategy;
  bool is_there = false;

  [[nodiscard]] bool is(std::string_view of_type, std::int64_t of_bits) const {
    return is_there && type == of_type && bits == of_bits;
  }
};

Numbers read_numbers(TableReader& group, std::string_view key) {
  Numbers numbers;
  const Value* entry = group.find(key);
  if (entry == nullptr || !entry->is_object()) return numbers;
  TableReader table(*entry, group.diagnostics(), std::string(key));
  numbers.is_there = true;
  table.read("num_bits", numbers.bits);
  table.read("group_size", numbers.group);
  table.read("type", numbers.type);
  table.read("strategy", numbers.strategy);
  return numbers;
}

/// 4-bit integers whose activations are quantised to 8 bit: of the same size, and multiplied
/// faster.
FormatFound narrow_activations(std::int64_t group) {
  FormatFound found = weight_only_format(4, group);
  if (found.dtype) {
    found.left_out =
        fmt::format("4-bit weights with 8-bit activations: priced as {}, whose GEMMs are 16-bit",
                    enum_name(*found.dtype));
  }
  return found;
}

FormatFound four_bit_with_8_bit_activations(const std::string& algorithm, std::int64_t group) {
  const bool is_mxfp4 = algorithm.find("MXFP4") != std::string::npos;
  if (!is_mxfp4 && algorithm.find("NVFP4") == std::string::npos) return narrow_activations(group);
  const DType dtype = is_mxfp4 ? DType::mxfp4 : DType::nvfp4;
  return {.dtype = dtype,
          .left_out = fmt::format("{} weights with 8-bit activations: priced as {} of both",
                                  enum_name(dtype), enum_name(dtype))};
}

FormatFound float_format(const Numbers& weights, const Numbers& activations) {
  if (weights.bits == 8) {
    if (!activations.is_there) return {.dtype = DType::w8a16};
    if (activations.is("float", 8)) {
      // A scale for 32 values (mxfp8) counts as one for a block.
      const bool is_block = weights.strategy == "block" || weights.strategy == "group";
      return {.dtype = is_block ? DType::fp8_block : DType::fp8};
    }
  }
  if (weights.bits == 4) {
    constexpr std::int64_t nvfp4_group = 16, mxfp4_group = 32;
    if (weights.group == mxfp4_group) return {.dtype = DType::mxfp4};
    if (weights.group == nvfp4_group || weights.group == 0) {
      // Without activations: unpacked to 16 bit everywhere, of as many bytes as nvfp4.
      return {.dtype = activations.is_there ? DType::nvfp4 : DType::w4a16_g32};
    }
  }
  return {.problem = fmt::format(
              "{}-bit floats in groups of {} with {} activations are not supported", weights.bits,
              weights.group,
              activations.is_there ? fmt::format("{}-bit", activations.bits) : "16-bit")};
}

FormatFound format_of(const Numbers& weights, const Numbers& activations) {
  if (!weights.is_there) return {.problem = "a group without \"weights\""};
  if (weights.type == "float") return float_format(weights, activations);
  if (weights.type != "int") {
    return {.problem = fmt::format("weights of type '{}'; int and float can", weights.type)};
  }
  if (!activations.is_there) return weight_only_format(weights.bits, weights.group);
  if (weights.bits == 8 && activations.is("int", 8)) return {.dtype = DType::int8};
  if (weights.bits == 4 && activations.bits == 8) return narrow_activations(weights.group);
  return {.problem = fmt::format("{}-bit integers with {}-bit activations are not supported",
                                 weights.bits, activations.bits)};
}

}  // namespace

FormatFound weight_only_format(std::int64_t bits, std::int64_t group) {
  if (bits == 8) return {.dtype = DType::w8a16};
  if (bits != 4) {
    return {.problem = fmt::format("{}-bit weights are not supported; 4 and 8 bits are", bits)};
  }
  if (group <= 0 || group >= 128) return {.dtype = DType::w4a16};
  if (group >= 32) return {.dtype = DType::w4a16_g32};
  return {.problem =
              fmt::format("a scale per {} 4-bit weights is not supported; 32 and more are", group)};
}

FormatFound modelopt_format(const std::string& algorithm, std::int64_t group) {
  constexpr auto known =
      std::to_array<std::pair<std::string_view, DType>>({{"FP8", DType::fp8},
                                                         {"FP8_PER_CHANNEL_PER_TOKEN", DType::fp8},
                                                         {"FP8_PB_REAL", DType::fp8_block},
                                                         {"FP8_PB_WO", DType::fp8_block},
                                                         {"NVFP4", DType::nvfp4},
                                                         {"NVFP4_AWQ", DType::nvfp4},
                                                         {"MXFP4", DType::mxfp4},
                                                         {"INT8_SQ", DType::int8},
                                                         {"W8A8_SQ_PER_CHANNEL", DType::int8},
                                                         {"W8A16", DType::w8a16}});
  // Floats in groups of 16, unpacked to 16 bit everywhere: as many bytes as nvfp4.
  if (algorithm == "W4A16_NVFP4") return {.dtype = DType::w4a16_g32};
  if (algorithm == "MXFP8") {
    return {.dtype = DType::fp8_block,
            .left_out = "mxfp8: counted as fp8_block, whose scales are fewer (3 % more memory)"};
  }
  if (algorithm.starts_with("W4A8")) return four_bit_with_8_bit_activations(algorithm, group);
  if (algorithm == "W4A16_AWQ" || algorithm == "INT4_AWQ" || algorithm == "W4A16") {
    return weight_only_format(4, group);
  }
  const auto found =
      std::ranges::find(known, algorithm, &std::pair<std::string_view, DType>::first);
  if (found != known.end()) return {.dtype = found->second};
  std::vector<std::string_view> names = {"W4A16_AWQ"};
  for (const auto& [name, dtype] : known) names.push_back(name);
  return {.problem = unknown_name_message("quant_algo", algorithm, names)};
}

FormatFound group_format(TableReader& group) {
  return format_of(read_numbers(group, "weights"), read_numbers(group, "input_activations"));
}

FormatFound quark_format(TableReader& entry) {
  const auto numbers = [&](std::string_view key) {
    Numbers read;
    const Value* value = entry.find(key);
    if (value == nullptr || !value->is_object()) return read;
    TableReader table(*value, entry.diagnostics(), std::string(key));
    std::string dtype, scheme;
    read.is_there = table.read("dtype", dtype);
    table.read("group_size", read.group);
    table.read("qscheme", scheme);
    if (scheme == "per_block") read.strategy = "block";
    read.bits = dtype.find('4') == std::string::npos || dtype.starts_with("fp8") ? 8 : 4;
    read.type = dtype.find("int") == std::string::npos ? "float" : "int";
    return read;
  };
  return format_of(numbers("weight"), numbers("input_tensors"));
}

FormatFound torchao_format(std::string_view type, std::int64_t group) {
  const auto is = [&](std::string_view start) { return type.starts_with(start); };
  if (is("Float8WeightOnly") || is("Int8WeightOnly") || is("int8_weight_only")) {
    return {.dtype = DType::w8a16};
  }
  if (is("Float8Dynamic") || is("float8_dynamic")) return {.dtype = DType::fp8};
  if (is("Int8DynamicActivationInt8") || is("int8_dynamic_activation_int8")) {
    return {.dtype = DType::int8};
  }
  if (is("Int8DynamicActivationInt4")) return narrow_activations(group);
  if (is("Int4WeightOnly") || is("int4_weight_only")) return weight_only_format(4, group);
  if (is("NVFP4")) return {.dtype = DType::nvfp4};
  if (is("MXFP4") || is("MXDynamic")) return {.dtype = DType::mxfp4};
  return {.problem = fmt::format("torchao's '{}' is not supported", type)};
}

}  // namespace foretoken

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

FormatFound float_format(const Numbers& weights, const Numbers& activations) {
  if (weights.bits == 8) {
    if (!activations.is_there) return {DType::w8a16, ""};
    if (activations.is("float", 8)) {
      return {weights.strategy == "block" ? DType::fp8_block : DType::fp8, ""};
    }
  }
  if (weights.bits == 4) {
    constexpr std::int64_t nvfp4_group = 16, mxfp4_group = 32;
    if (weights.group == mxfp4_group) return {DType::mxfp4, ""};
    if (weights.group == nvfp4_group || weights.group == 0) {
      // Without activations: unpacked to 16 bit everywhere, of as many bytes as nvfp4.
      return {activations.is_there ? DType::nvfp4 : DType::w4a16_g32, ""};
    }
  }
  return {std::nullopt,
          fmt::format("{}-bit floats in groups of {} with {} activations are no format here",
                      weights.bits, weights.group,
                      activations.is_there ? fmt::format("{}-bit", activations.bits) : "16-bit")};
}

}  // namespace

FormatFound weight_only_format(std::int64_t bits, std::int64_t group) {
  if (bits == 8) return {DType::w8a16, ""};
  if (bits != 4) {
    return {std::nullopt, fmt::format("{}-bit weights are no format here; 4 and 8 bit are", bits)};
  }
  if (group <= 0 || group >= 128) return {DType::w4a16, ""};
  if (group >= 32) return {DType::w4a16_g32, ""};
  return {std::nullopt, fmt::format("a scale for {} 4-bit weights is no format here; 32 and more "
                                    "are",
                                    group)};
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
  if (algorithm == "W4A16_NVFP4") return {DType::w4a16_g32, ""};
  if (algorithm == "W4A16_AWQ" || algorithm == "INT4_AWQ" || algorithm == "W4A16") {
    return weight_only_format(4, group);
  }
  const auto found =
      std::ranges::find(known, algorithm, &std::pair<std::string_view, DType>::first);
  if (found != known.end()) return {found->second, ""};
  std::vector<std::string_view> names = {"W4A16_AWQ"};
  for (const auto& [name, dtype] : known) names.push_back(name);
  return {std::nullopt, unknown_name_message("quant_algo", algorithm, names)};
}

FormatFound group_format(TableReader& group) {
  const Numbers weights = read_numbers(group, "weights");
  const Numbers activations = read_numbers(group, "input_activations");
  if (!weights.is_there) return {std::nullopt, "a group without \"weights\""};
  if (weights.type == "float") return float_format(weights, activations);
  if (weights.type != "int") {
    return {std::nullopt, fmt::format("weights of type '{}'; int and float can", weights.type)};
  }
  if (!activations.is_there) return weight_only_format(weights.bits, weights.group);
  if (weights.bits == 8 && activations.is("int", 8)) return {DType::int8, ""};
  return {std::nullopt, fmt::format("{}-bit integers with {}-bit activations are no format here",
                                    weights.bits, activations.bits)};
}

}  // namespace foretoken

// One group of a quantisation block as a number format. Internal to this room.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hardware/dtype.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// A format, or why there is none for it.
struct FormatFound {
  std::optional<DType> dtype = {};
  std::string problem = {};   // "3-bit weights have no kernel here …"
  std::string left_out = {};  // how the format differs from `dtype`, which it is counted as
};

/// Integer weights that are multiplied in 16 bit; `group` weights share a scale (0 or less: a
/// channel).
FormatFound weight_only_format(std::int64_t bits, std::int64_t group);
/// What ModelOpt's quant_algo means: "FP8", "NVFP4", "W4A16_AWQ" …
FormatFound modelopt_format(const std::string& algorithm, std::int64_t group);
/// A config_groups entry of compressed-tensors and of ModelOpt: bits, type and grouping of weights,
/// and what activations are quantised to.
FormatFound group_format(TableReader& group);
/// An entry of Quark's: number formats of "weight" and "input_tensors".
FormatFound quark_format(TableReader& entry);
/// One of torchao's types: "Int4WeightOnlyConfig", "Float8DynamicActivationFloat8WeightConfig" …
FormatFound torchao_format(std::string_view type, std::int64_t group);

}  // namespace foretoken

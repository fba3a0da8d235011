// A quantisation block as rules: which modules it covers, in which format. One reader for the ways
// in which quantisers write them; what follows for a model's parts is quantisation.cpp's. Internal
// to this room.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/dtype.hpp"
#include "sim/base/table_reader.hpp"

namespace foretoken {

/// Modules and the format of those that it covers; "Linear" is every module.
struct QuantisationRule {
  std::vector<std::string> targets;
  DType dtype = DType::bf16;
};

/// What a block says: the last rule that covers a module decides; modules that are ignored stay in
/// 16 bit.
struct QuantisationBlock {
  std::vector<QuantisationRule> rules;
  std::vector<std::string> ignored;
  std::optional<DType> kv;            // of the KV cache
  std::vector<std::string> left_out;  // where a format is counted as another one, a sentence each
};

/// The block in `value`; nullopt where it was refused, which `diagnostics` then says.
std::optional<QuantisationBlock> read_quantisation_block(const Value& value,
                                                         Diagnostics& diagnostics);

}  // namespace foretoken

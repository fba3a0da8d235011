// The layouts to compare: every combination of the values asked for.
#pragma once

#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/base/value.hpp"
#include "sim/planner/scenario_runner.hpp"

namespace foretoken {

/// A key of the scenario and the values to try, as they stand on the command line.
struct LayoutChoice {
  std::string key;    // "deployment.tensor_parallel"
  std::string label;  // "TP": the column's header
  std::vector<std::string> values;
  /// Where one value is several keys', "1:3": those, in order.
  std::vector<std::string> parts = {};
  std::vector<SourcePosition> positions = {};  // of the values, where they were written
};

/// One combination: a value for each choice, in the choices' order.
struct Layout {
  std::vector<std::string> values;
  [[nodiscard]] RunRequest request(const std::vector<LayoutChoice>& choices) const;
};

/// A value as --set spells it: true, 8, 0.9, or text as it stands. A list or table is a ConfigError
/// at its position.
std::string assignment_text(const Value& value);

/// All combinations, the last choice changing fastest. A choice without values is a ConfigError,
/// one value twice likewise, and one that has not as many parts as the choice.
std::vector<Layout> combinations(const std::vector<LayoutChoice>& choices);

}  // namespace foretoken

// What is wrong with the values that a plan chooses from. A value that does not fit this model or
// that GPU is an answer, which the plan lists with its reason; a name that nobody knows, or a value
// of the wrong type or size, is a slip of the pen, to be told where it was written and before
// anything is run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.hpp"
#include "sim/planner/layout_choices.hpp"

namespace foretoken {

/// Asks `check` (which throws ConfigError) for so many of the combinations that each value that can
/// be has been accepted once. Throws as ChoiceComplaints::throw_if_any() does.
void check_choices(const std::vector<LayoutChoice>& choices,
                   const std::function<void(const RunRequest&)>& check);

class ChoiceComplaints {
 public:
  explicit ChoiceComplaints(const std::vector<LayoutChoice>& axes);

  /// Whether each of its values is part of one that can be.
  [[nodiscard]] bool is_known(const Layout& layout) const;
  /// A combination that can be.
  void accept(const Layout& layout);
  /// One that cannot: `error` says why, at "--set KEY=VALUE" what is wrong with a value.
  void refuse(const Layout& layout, const ConfigError& error);

  /// After the last combination. Throws ConfigError for slips of the pen: what is wrong with a
  /// value in every combination that has it; and if no combination was accepted, for everything.
  void throw_if_any() const;

 private:
  struct Complaint {
    bool is_accepted = false;  // in some combination
    std::optional<Diagnostic> slip;
  };
  [[nodiscard]] std::size_t value_index(std::size_t axis, const Layout& layout) const;
  /// Where a value stands in the plan, if the diagnostic is about one of the layout's values.
  [[nodiscard]] Diagnostic placed(const Diagnostic& diagnostic, const Layout& layout,
                                  std::optional<std::size_t>& axis) const;

  const std::vector<LayoutChoice>& axes_;
  std::vector<std::vector<Complaint>> values_;  // of each axis
  std::vector<Diagnostic> all_;                 // different ones
  bool any_accepted_ = false;
};

}  // namespace foretoken

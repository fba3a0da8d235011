// The options of the command line that change a recipe, the same for every subcommand that trains.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/recipes.hpp"

namespace foretoken {

/// --epochs, --rows …: what the user gives goes over what the recipe says.
class TrainingFlags {
 public:
  void add_to(CLI::App& command);
  /// The recipe file that the user named, or "".
  [[nodiscard]] const std::string& recipes_path() const { return recipes_path_; }
  /// Overwrites what the user gave.
  void apply(FamilyTraining& training) const;

 private:
  template <class Part, class Value>
  void add(CLI::App& command, const std::string& flag, Part FamilyTraining::*part,
           Value Part::*member, const std::string& description);

  std::string recipes_path_;
  std::vector<std::function<void(FamilyTraining&)>> given_;
};

}  // namespace foretoken

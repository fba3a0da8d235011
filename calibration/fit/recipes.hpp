// How each shipped network is trained: calibration/train/recipes.toml, one table a family, read
// wherever networks are trained (and, to know which data they learned from, judged).
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "calibration/train/train_family.hpp"

namespace foretoken {

/// Tables that are no family: how NeuSight's networks are trained, and SynPerf's paper's with its
/// ablations; both for all families.
inline constexpr std::string_view neusight_recipe = "neusight", paper_recipe = "synperf_paper";

class Recipes {
 public:
  /// Reads a TOML file; all mistakes in it are one ConfigError. "": the recipes inside the
  /// program, which are those of the source tree wherever it is called.
  explicit Recipes(const std::string& path = "");

  /// The recipe called `name`; the defaults of FamilyTraining if there is none.
  [[nodiscard]] FamilyTraining find(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return recipes_.contains(name); }

  /// The recipe of a baseline (one of the tables above) on the data that `family` learns from.
  [[nodiscard]] FamilyTraining baseline(std::string_view name, std::string_view family) const;

 private:
  std::map<std::string, FamilyTraining, std::less<>> recipes_;
};

}  // namespace foretoken

// How far off the prices of a deployment's steps may be: the held-out error of each family of
// kernels (tables/predictor_errors.toml), weighted by the family's share of the time. First order:
// the errors of all families are taken to go the same way. That is the cautious choice, and what
// whole measured steps show, which are off by about as much as their kernels are.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/value.hpp"

namespace foretoken {

/// A family's part: its share of the time, its error, and how much of the whole comes from it.
struct FamilyError {
  std::string family;
  double share = 0;
  double error = 0;  // mean absolute, relative
  [[nodiscard]] double part() const { return share * error; }
};

struct StepError {
  std::vector<FamilyError> families;  // largest part first
  /// Mean absolute relative error of a step's time.
  [[nodiscard]] double mean_absolute() const;
  /// Half of the interval that holds a step's time with probability `confidence`, relative. Errors
  /// are taken to be normal: the deviation is sqrt(pi / 2) of the mean absolute error.
  [[nodiscard]] double half_width(double confidence) const;
};

/// Of the steps of a run, from report.json's object. `predictor` and `gpu` by name; a predictor
/// that no table has (a plug-in's) counts as `roofline`, the least exact.
StepError step_error(const Value& report, const std::string& predictor, const std::string& gpu);

}  // namespace foretoken

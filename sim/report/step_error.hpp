// How far off the prices of a run's steps may be: the held-out error of each family of kernels
// (tables/predictor_errors.toml), weighted by the family's share of the time. First order: the
// errors of all families are taken to go the same way. That is the cautious choice, and what whole
// measured steps show, which are off by about as much as their kernels are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct NamedCount {
  std::string name;
  std::int64_t count = 0;
};

struct NamedSeconds {
  std::string name;  // kernel family or communication: "gemm", "attention", "all_reduce"
  double seconds = 0;
};

/// Who priced steps, as far as errors depend on it.
struct PricedBy {
  std::string predictor;  // one that no table has (a plug-in's) counts as roofline, the least exact
  std::string gpu;        // by name; one that no table has was never measured
  std::string dtype, expert_dtype;  // of products, of experts' products; "" = as the others
};

/// Mean absolute relative error of the prices of a family, as report.json's time_by calls it, on
/// data that no fit has seen.
double family_error(const PricedBy& by, std::string_view family);

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
  /// Half of the interval that holds a step's time with probability `confidence`, relative.
  [[nodiscard]] double half_width(double confidence) const;
};

/// A family in a sentence: "GEMM", "fused moe".
std::string family_title(std::string_view family);

/// Mean absolute errors that fit into half an interval of so much confidence: 2.06 for 90 %. Errors
/// are taken to be normal, so that the deviation is sqrt(pi / 2) of the mean absolute error.
double errors_in_half_width(double confidence);

/// Half of the interval of a latency ("ttft_ms", "tpot_ms", "e2e_ms") for what real servers do
/// beside what prices say, as a logarithm: 0.5 is from 1 / 1.65 to 1.65 times.
double server_half_width(std::string_view latency, double confidence);

/// What one kind of replica did with its GPUs' time.
struct PricedTime {
  PricedBy by;
  std::vector<NamedSeconds> time_by;
};

/// Of all kinds together.
StepError step_error(const std::vector<PricedTime>& kinds);

}  // namespace foretoken

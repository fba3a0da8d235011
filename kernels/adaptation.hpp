// What a few launches on one GPU say about how it differs from what the networks expect: for each
// family a correction of log(time), a kernel ridge regression over the launches' features. Written
// by `foretoken-calibrate adapt`, a JSON file; read by the synperf predictor.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken {

struct FamilyAdaptation {
  std::string family;
  int version = 0;  // EstimatorFamily::version()
  /// Median of log(measured / predicted): what every price of the family is corrected by.
  double offset = 0;
  /// exp(-|x - y|^2 / (2 length^2)) is how much a launch at x says about one at y.
  double length = 1;
  std::size_t features = 0;
  std::vector<float> points;    // launches x features, scaled and clamped as the networks see them
  std::vector<double> weights;  // a launch
  /// Mean relative error, each launch predicted from the others.
  double error = 0;

  /// To be added to log(time) at `scaled` features.
  [[nodiscard]] double correction(std::span<const float> scaled) const;
};

struct Adaptation {
  std::string gpu;  // GpuSpec::name
  std::vector<FamilyAdaptation> families;

  /// nullptr if there is none for the family, or for another version of it.
  [[nodiscard]] const FamilyAdaptation* find(std::string_view family, int version) const;
};

/// Throws ConfigError for a file of another format.
Adaptation read_adaptation(std::string_view text, const std::string& file);
std::string write_adaptation(const Adaptation& adaptation);

}  // namespace foretoken

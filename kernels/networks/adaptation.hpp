// What a few launches on one GPU say about how it differs from what the networks expect: for each
// family a correction of log(time), the posterior mean of a Gaussian process. It is the sum of what
// varies over the networks' own states, where launches stand close that the networks treat alike,
// and of what varies over their inputs, which know differences that did not matter on other GPUs.
// Written by `foretoken-calibrate adapt`, a JSON file; read by the synperf predictor.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/networks/network.hpp"

namespace foretoken {

/// A sum over launches, each counting for what lies near it.
struct Nearness {
  /// exp(-|x - y|^2 / (2 length^2)) is how much a launch at x says about one at y.
  double length = 1;
  std::size_t width = 0;        // numbers of a point
  std::vector<float> points;    // launches x width
  std::vector<double> weights;  // a launch; all 0 where there is nothing to correct

  [[nodiscard]] double sum(std::span<const float> point) const;
};

struct FamilyAdaptation {
  std::string family;
  int version = 0;  // EstimatorFamily::version()
  /// Ensemble::fingerprint() of the networks that are corrected: others err elsewhere.
  std::uint64_t networks = 0;
  /// What every price of the family is corrected by, in log(time).
  double offset = 0;
  Nearness states;  // Ensemble::state_width() numbers
  Nearness inputs;  // Ensemble::features(), scaled
  /// Mean relative error of the launches, each predicted from the others; and without adaptation.
  double error = 0, error_before = 0;

  [[nodiscard]] bool corrects() const;
  /// To be added to log(time) of a kernel that stands there.
  [[nodiscard]] double correction(std::span<const float> state, std::span<const float> input) const;
};

struct Adaptation {
  std::string gpu;  // GpuSpec::name
  std::vector<FamilyAdaptation> families;

  /// nullptr if there is none for the family.
  [[nodiscard]] const FamilyAdaptation* find(std::string_view family) const;
};

/// "gpus/new.toml" → "gpus/new.adaptation.json": where `adapt` writes and a predictor looks. The
/// current folder for a GPU inside the program.
std::string adaptation_path(const std::string& gpu_name_or_path);

/// Throws ConfigError for a file of another format.
Adaptation read_adaptation(std::string_view text, const std::string& file);
/// Throws ConfigError for a file that cannot be read, too.
Adaptation load_adaptation(const std::string& path);
std::string write_adaptation(const Adaptation& adaptation);

}  // namespace foretoken

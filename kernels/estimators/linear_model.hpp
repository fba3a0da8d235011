// The linear baseline (SynPerf's "Linear"): time = intercept + math x (operations at full rate) +
// memory x (compulsory bytes at full bandwidth), one set of constants a family, fitted in
// calibration/fit.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "hardware/gpu.hpp"
#include "kernels/kernel.hpp"

namespace foretoken {

/// Seconds each resource is busy at its full rate.
struct LinearTerms {
  double math = 0;    // tensor, FMA and XU pipes together
  double memory = 0;  // DRAM
};

struct LinearModel {
  double intercept = 0;  // s
  double math = 1, memory = 1;

  /// At least a tenth of a launch: a fit may go below zero at small sizes.
  [[nodiscard]] Seconds time(const LinearTerms& terms, const GpuSpec& gpu) const;
};

/// Throws PredictionError for a dtype without a path on the GPU.
LinearTerms linear_terms(const Kernel& kernel, const GpuSpec& gpu);

using LinearModels = std::map<std::string, LinearModel, std::less<>>;  // by family

/// JSON, as `foretoken-calibrate train --baseline linear` writes it. Throws ConfigError.
LinearModels read_linear_models(std::string_view text, const std::string& file);
std::string write_linear_models(const LinearModels& models);

/// The constants inside the program.
LinearModels embedded_linear_models();

}  // namespace foretoken

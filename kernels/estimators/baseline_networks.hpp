// A predictor whose networks see the estimator families in a way of their own: NeuSight's, and
// SynPerf's paper's. Prices T times what the family's network says; knows no cold launches.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kernels/estimators/trained_families.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

struct BaselineNetworks {
  std::string name;  // the predictor's: "neusight"
  /// One of estimator_families(), as the baseline sees it.
  std::function<const EstimatorFamily&(const EstimatorFamily& family)> seen;
  /// Inside the program, from calibration/artifacts/baselines/<name>. None: T is the price.
  std::optional<std::span<const EmbeddedFile>> embedded;
};

/// Reads the option `artifacts`, a folder of networks in place of those inside the program.
/// `fallback` prices kernels that the baseline has no network for; nullptr: such a kernel is a
/// PredictionError, as one without decomposer always is.
std::unique_ptr<Predictor> make_baseline(BaselineNetworks networks, TableReader& options,
                                         std::unique_ptr<Predictor> fallback);

}  // namespace foretoken

// Prices kernels that are given as objects (kernels/kernel_case.hpp says which keys): what
// `foretoken predict` and the library's predict() answer. Collectives need a cluster, all other
// kernels a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hardware/cluster.hpp"
#include "kernels/communication/communication_price.hpp"
#include "kernels/kernel_case.hpp"
#include "kernels/predictor.hpp"

namespace foretoken {

/// Who prices, and for what. Exactly one of `gpu` and `cluster` is named, each by its built-in name
/// or the path of a TOML file.
struct PricingChoice {
  std::string gpu = {}, cluster = {};
  std::string predictor = "synperf";
  std::string communication = "model";  // who prices collectives: model or measured
  bool explain = false;                 // adds how each kernel is cut into launches and tasks
};

class KernelPricer {
 public:
  /// Throws ConfigError for names that are not known; `predictors` may hold a plug-in's own.
  KernelPricer(const PricingChoice& choice, const Registry<PredictorFactory>& predictors);

  /// The object that asked, with cold, time_us, bound_by, origin and, where they are known,
  /// expected_error, note and explain; a collective's with all_reduce (whose choice), priced_as
  /// (the algorithm) and protocol. `cold`, true unless the object says otherwise: weights, KV
  /// cache and inputs come from DRAM; false: they are in the L2 where they fit. Throws ConfigError
  /// for a mistake in it and PredictionError where nobody knows the price.
  [[nodiscard]] Value answer(Value object) const;

 private:
  /// What was priced goes into the answer: algorithm and protocol of a collective.
  [[nodiscard]] Prediction price(const KernelCase& asked, Value& answer) const;
  [[nodiscard]] Prediction price_collective(const Collective& collective, const KernelCase& asked,
                                            Value& answer) const;
  [[nodiscard]] CommSettings settings_of(const KernelCase& asked) const;

  bool explains_;
  std::optional<ClusterSpec> cluster_;
  GpuSpec gpu_;
  CommSettings comm_;
  std::unique_ptr<Predictor> predictor_;
};

}  // namespace foretoken

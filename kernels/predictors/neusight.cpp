// NeuSight, a baseline: the roof of a kernel's waves of tiles over a learned utilisation
// (kernels/neusight.hpp). What a learned predictor without our features has to say.
#include "kernels/neusight.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "kernels/estimators/attention_mixed.hpp"
#include "kernels/head.hpp"
#include "kernels/predictor.hpp"
#include "kernels/trained_families.hpp"

namespace foretoken {
namespace {

struct NeusightConfig {
  /// A folder with networks of one's own training, instead of those inside the program.
  std::string artifacts;

  static NeusightConfig from_table(TableReader& options) {
    NeusightConfig config;
    if (options.read("artifacts", config.artifacts)) {
      options.expect("artifacts", std::filesystem::is_directory(config.artifacts),
                     "must be a folder of networks, as foretoken-calibrate train --baseline "
                     "neusight writes it");
    }
    return config;
  }
};

class Neusight final : public Predictor {
 public:
  explicit Neusight(const NeusightConfig& config)
      : families_(config.artifacts, embedded_neusight(),
                  "calibration/artifacts/baselines/neusight") {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    const EstimatorFamily* covering = family_of(kernel, gpu);
    if (covering == nullptr && is_mixed(kernel)) return price_apart(*this, kernel, gpu);
    const bool is_trained = covering != nullptr && covering->first_order_error() == 0;
    const EstimatorFamily* family = is_trained ? &neusight_family(*covering) : nullptr;
    const Artifact* artifact = family == nullptr ? nullptr : families_.find(*family);
    if (artifact == nullptr) {
      throw PredictionError(
          fmt::format("{}: the neusight predictor has no network for this kernel on {}",
                      kernel_name(kernel), gpu.name));
    }
    const FirstOrder first = family->first_order(kernel, gpu);
    const bool is_known = std::ranges::find(artifact->gpus, gpu.name) != artifact->gpus.end();
    return {first.time * std::exp(log_ratio(*family, *artifact, kernel, gpu)), first.bound_by,
            is_known ? Origin::learned : Origin::transferred,
            is_known ? artifact->error_seen : artifact->error_unseen_gpu};
  }

 private:
  TrainedFamilies families_;
};

}  // namespace

std::unique_ptr<Predictor> make_neusight(TableReader& options) {
  return std::make_unique<Neusight>(NeusightConfig::from_table(options));
}

}  // namespace foretoken

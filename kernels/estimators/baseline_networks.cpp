#include "kernels/estimators/baseline_networks.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "kernels/estimators/attention_mixed.hpp"

namespace foretoken {
namespace {

class Baseline final : public Predictor {
 public:
  Baseline(BaselineNetworks networks, const std::string& folder,
           std::unique_ptr<Predictor> fallback)
      : networks_(std::move(networks)),
        fallback_(std::move(fallback)),
        families_(folder, networks_.embedded.value_or(std::span<const EmbeddedFile>()),
                  "calibration/artifacts/baselines/" + networks_.name) {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    const EstimatorFamily* covering = family_of(kernel, gpu);
    if (covering == nullptr && is_mixed(kernel)) return price_apart(*this, kernel, gpu);
    // Families priced by their first-order time alone have nothing to learn from.
    if (covering == nullptr || covering->first_order_error() > 0) return unknown(kernel, gpu);
    const EstimatorFamily& family = networks_.seen(*covering);
    if (!networks_.embedded) {
      const auto other = family.substitute(kernel, gpu);
      const FirstOrder first = family.first_order(other ? other->kernel : kernel, gpu);
      return {first.time, first.bound_by, Origin::analytic};
    }
    const Artifact* artifact = families_.find(family);
    if (artifact == nullptr) return unknown(kernel, gpu);
    const FirstOrder first = family.first_order(kernel, gpu);
    const bool is_known = std::ranges::find(artifact->gpus, gpu.name) != artifact->gpus.end();
    return {first.time * std::exp(log_ratio(family, *artifact, kernel, gpu)), first.bound_by,
            is_known ? Origin::learned : Origin::transferred,
            is_known ? artifact->error_seen : artifact->error_unseen_gpu};
  }

 private:
  [[nodiscard]] Prediction unknown(const Kernel& kernel, const GpuSpec& gpu) const {
    if (fallback_ != nullptr) return fallback_->predict(kernel, gpu);
    throw PredictionError(
        fmt::format("{}: the {} predictor has no network for this kernel on {}; set fallback = "
                    "\"roofline\" to price it by its roofline",
                    kernel_name(kernel), networks_.name, gpu.name));
  }

  BaselineNetworks networks_;
  std::unique_ptr<Predictor> fallback_;  // null: there is none
  TrainedFamilies families_;
};

}  // namespace

std::unique_ptr<Predictor> make_baseline(BaselineNetworks networks, TableReader& options,
                                         std::unique_ptr<Predictor> fallback) {
  std::string folder;
  if (networks.embedded && options.read("artifacts", folder)) {
    options.expect("artifacts", std::filesystem::is_directory(folder),
                   fmt::format("must be a folder of networks, as foretoken-calibrate train "
                               "--baseline {} writes it",
                               networks.name));
  }
  return std::make_unique<Baseline>(std::move(networks), folder, std::move(fallback));
}

}  // namespace foretoken

// The linear baseline: least squares on the time at full rate of math and of memory, one set of
// constants a family. It knows no tiles, waves or caches; what learning has to beat. Kernels of no
// family that was fitted are the fallback's.
#include "kernels/estimators/attention_mixed.hpp"
#include "kernels/estimators/estimator.hpp"
#include "kernels/estimators/linear_model.hpp"
#include "kernels/estimators/trained_families.hpp"
#include "kernels/fallback.hpp"
#include "kernels/kernel_work.hpp"

namespace foretoken {
namespace {

class Linear final : public Predictor {
 public:
  explicit Linear(std::unique_ptr<Predictor> fallback)
      : models_(embedded_linear_models()), fallback_(std::move(fallback)) {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    const EstimatorFamily* family = family_of(kernel, gpu);
    if (family == nullptr && is_mixed(kernel)) return price_apart(*this, kernel, gpu);
    const auto model = family == nullptr ? models_.end() : models_.find(family->name());
    if (model == models_.end()) {
      if (fallback_ != nullptr) return fallback_->predict(kernel, gpu);
      throw PredictionError(fmt::format(
          "{}: the linear predictor has no constants for this kernel on {}; set fallback = "
          "\"roofline\" to price it by its roofline",
          kernel_name(kernel), gpu.name));
    }
    const LinearTerms terms = linear_terms(kernel, gpu);
    const bool is_math = model->second.math * terms.math > model->second.memory * terms.memory;
    return {model->second.time(terms, gpu), is_math ? Bound::tensor : Bound::dram, Origin::learned};
  }

 private:
  LinearModels models_;
  std::unique_ptr<Predictor> fallback_;  // null: there is none
};

}  // namespace

std::unique_ptr<Predictor> make_linear(TableReader& options) {
  return std::make_unique<Linear>(read_fallback(options, "fallback", Fallback::roofline));
}

}  // namespace foretoken

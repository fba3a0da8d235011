#include "kernels/physical_predictor.hpp"

#include "kernels/roof.hpp"

namespace foretoken {
namespace {

class PhysicalPredictor final : public Predictor {
 public:
  explicit PhysicalPredictor(std::unique_ptr<Predictor> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    return within_physics(inner_->predict(kernel, gpu), kernel, gpu);
  }

 private:
  std::unique_ptr<Predictor> inner_;
};

}  // namespace

std::unique_ptr<Predictor> within_physics(std::unique_ptr<Predictor> inner) {
  FORETOKEN_CHECK(inner != nullptr, "physics around no predictor");
  return std::make_unique<PhysicalPredictor>(std::move(inner));
}

}  // namespace foretoken

#include "kernels/estimators/in_step_predictor.hpp"

#include <algorithm>

#include "hardware/compute_capability.hpp"
#include "kernels/estimators/tensor_energy.hpp"
#include "kernels/kernel_work.hpp"
#include "kernels/roof.hpp"

namespace foretoken {
namespace {

// Both chosen on an H200's steps of Llama-3.1-8B without tensor parallelism
// (calibration/datasets/h200/steps.csv.gz), all others judge them.

/// Clocks until the first instructions are there: about one access to DRAM. Of ten kernels of a
/// decode step, nine take 0.2 to 0.5 us more than alone, whatever they are.
constexpr double fetch_cycles = 700;
/// Whether a launch is there before the one in front of it ends (programmatic dependent launch):
/// TensorRT-LLM's, by default.
bool is_launched_early(const Kernel& kernel, const GpuSpec& gpu) {
  return gpu.compute_capability >= hopper &&
         std::visit(
             [](const auto& own) {
               if constexpr (requires { own.implementation.framework; }) {
                 return own.implementation.framework == Framework::trtllm;
               } else {
                 return false;
               }
             },
             kernel);
}

/// What a launch that draws all of the power limit takes longer: the clock falls from 1,980 to
/// 1,590 MHz as a step's mean power rises from 300 to 690 W.
constexpr double longer_at_limit = 0.09;

/// What SGLang's table of fp8 products with a scale a block has beside each launch on Blackwell:
/// DeepGEMM's conversion of scales, the weights' to one a row of each. Engines convert weights'
/// scales as they load them and write the activations' in the format wanted, or multiply by
/// FlashInfer's kernels (InferenceX's dsr1_fp8_b200.sh). Fitted to 513 products of up to 256 rows
/// against TensorRT-LLM's table of the same kernel, which has the quantisation too and by which
/// TensorRT-LLM's are priced: half of them are within 1.1 us (3.0 of one time for all sizes).
constexpr Seconds conversion = Seconds(6.9e-6);
constexpr Seconds conversion_of_row = Seconds(0.545e-9);

/// 0: no such product.
Seconds scale_conversion(const Kernel& kernel, const GpuSpec& gpu) {
  const auto* const gemm = std::get_if<Gemm>(&kernel);
  const bool has_one = gemm != nullptr && gemm->implementation.framework != Framework::trtllm &&
                       gemm->dtype == DType::fp8_block && is_datacentre_blackwell(gpu);
  return has_one ? conversion + conversion_of_row * double(gemm->n) : Seconds(0.0);
}

/// Time at the power limit over the launch's own, 0 to 1.
double power_share(const Kernel& kernel, Seconds time, const GpuSpec& gpu) {
  const KernelWork work = kernel_work(kernel);
  if (work.tensor_flops == 0) return 0;
  const DType multiplied = product_format(work.tensor_dtype, gpu);
  if (gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(multiplied)] == 0) return 0;
  const double us = power_limited_us(work.tensor_flops, multiplied, energy_16bit, gpu);
  return std::min(us * 1e-6 / time.value(), 1.0);
}

class InStepPredictor final : public Predictor {
 public:
  explicit InStepPredictor(std::unique_ptr<Predictor> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Prediction predict(const Kernel& kernel, const GpuSpec& gpu) const override {
    return in_step(inner_->predict(kernel, gpu), kernel, gpu);
  }

 private:
  std::unique_ptr<Predictor> inner_;
};

}  // namespace

Prediction in_step(Prediction prediction, const Kernel& kernel, const GpuSpec& gpu) {
  if (prediction.origin == Origin::analytic) return prediction;
  if (const Seconds beside = scale_conversion(kernel, gpu); beside > Seconds(0.0)) {
    prediction.time -= std::min(beside, 0.75 * prediction.time);
    prediction = within_physics(prediction, kernel, gpu);
  }
  // Squared: a launch that draws half of the limit's power hardly lowers the clock.
  const double share = power_share(kernel, prediction.time, gpu);
  prediction.time *= 1 + longer_at_limit * share * share;
  if (!is_launched_early(kernel, gpu)) prediction.time += Seconds(fetch_cycles / gpu.clock.value());
  return prediction;
}

std::unique_ptr<Predictor> in_step(std::unique_ptr<Predictor> inner) {
  FORETOKEN_CHECK(inner != nullptr, "a step of no predictor");
  return std::make_unique<InStepPredictor>(std::move(inner));
}

}  // namespace foretoken

// What a launch takes longer in a step, by hand.
#include "kernels/estimators/in_step_predictor.hpp"

#include <gtest/gtest.h>

#include "kernels/roof.hpp"
#include "tests/unit/kernels/example_gpu.hpp"

namespace foretoken {
namespace {

/// 4,096 operations a clock are four narrow cores' worth, and energy falls with width^-0.57.
class InStepPrice : public testing::Test {
 protected:
  [[nodiscard]] double factor(const Kernel& kernel, double us) const {
    const Prediction alone{Seconds(us * 1e-6), Bound::tensor, origin_, 0.05};
    return (in_step(alone, kernel, gpu_).time - fetch()) / alone.time;
  }
  /// 700 clocks of 1.83 GHz, which every launch pays.
  [[nodiscard]] Seconds fetch() const {
    return Seconds(origin_ == Origin::analytic ? 0 : 700 / gpu_.clock.value());
  }
  static GpuSpec limited() {
    GpuSpec gpu = example_gpu();
    gpu.power = Watts(700);
    return gpu;
  }
  GpuSpec gpu_ = limited();
  Origin origin_ = Origin::learned;
  const Gemm large_{8192, 8192, 8192};
  // 2 x 8192^3 flops x 1.32 pJ x 4^-0.57 = 658.6 mJ, at 0.81 of 700 W.
  static constexpr double at_limit_us = 1161.6;
};

TEST_F(InStepPrice, AddsNinePercentAtTheLimitAndASquareBelow) {
  EXPECT_NEAR(factor(large_, at_limit_us), 1.09, 1e-4);
  EXPECT_NEAR(factor(large_, 2 * at_limit_us), 1 + 0.09 / 4, 1e-4);
  EXPECT_NEAR(factor(large_, at_limit_us / 2), 1.09, 1e-4);  // no more than the limit
}

TEST_F(InStepPrice, LeavesAloneWhatDrawsNoPower) {
  EXPECT_NEAR(factor(RmsNorm{4096, 8192}, 20), 1, 1e-12);
  gpu_.power = Watts(0);  // a board without limit
  EXPECT_NEAR(factor(large_, at_limit_us), 1, 1e-12);
}

// TensorRT-LLM's launches fetch while the one before them runs, where the GPU can.
TEST_F(InStepPrice, LaunchesThatBeginEarlyFetchNothing) {
  gpu_.power = Watts(0);
  gpu_.compute_capability = 90;
  const Prediction alone{Seconds(5e-6), Bound::launch, Origin::learned, 0.05};
  Gemm product{1, 2112, 7168};
  EXPECT_NEAR((in_step(alone, product, gpu_).time - alone.time) / fetch(), 1, 1e-9);
  product.implementation.framework = Framework::trtllm;
  EXPECT_EQ(in_step(alone, product, gpu_).time, alone.time);
  gpu_.compute_capability = 80;
  EXPECT_GT(in_step(alone, product, gpu_).time, alone.time);
}

TEST_F(InStepPrice, LeavesFormulasAlone) {
  origin_ = Origin::analytic;
  EXPECT_EQ(factor(large_, at_limit_us), 1);
}

TEST_F(InStepPrice, NeverRaisesAPriceWithABetterBoard) {
  double before = factor(large_, 1200);
  for (const double watts : {800, 1000, 1400}) {
    gpu_.power = Watts(watts);
    EXPECT_LT(factor(large_, 1200), before);
    before = factor(large_, 1200);
  }
}

/// 6.9 us and 0.545 ns a row of the weights, and no other format or GPU.
TEST_F(InStepPrice, LeavesOutConversionsOfScalesOnBlackwell) {
  gpu_.power = Watts(0);
  gpu_.compute_capability = 100;
  const auto in_a_step = [&](const Gemm& gemm, double us) {
    const Prediction alone{Seconds(us * 1e-6), Bound::launch, origin_, 0.05};
    return (in_step(alone, gemm, gpu_).time - fetch()).value() * 1e6;
  };
  EXPECT_NEAR(in_a_step({4, 2000, 7168, DType::fp8_block}, 20), 12.01, 1e-9);
  EXPECT_NEAR(in_a_step({4, 2000, 512, DType::fp8_block}, 20), 12.01, 1e-9);
  EXPECT_NEAR(in_a_step({4, 22000, 1536, DType::fp8_block}, 40), 21.11, 1e-9);
  EXPECT_NEAR(in_a_step({8, 256, 512, DType::fp8_block}, 8), 2,
              1e-9);  // never more than three quarters
  EXPECT_NEAR(in_a_step({4, 2112, 7168, DType::fp8}, 20), 20, 1e-9);
  // TensorRT-LLM's own table has none to leave out, and its launches fetch nothing.
  EXPECT_NEAR(in_a_step({4, 2112, 7168, DType::fp8_block, {Framework::trtllm}}, 20),
              20 - 1e6 * fetch().value(), 1e-9);
  // Nothing beats its bytes and operations at peak: 4.0 TFLOP.
  const Gemm large{131072, 2112, 7168, DType::fp8_block};
  const double least_us = 1e6 * least_time(large, gpu_).time.value();
  EXPECT_NEAR(in_a_step(large, least_us + 5), least_us, 1e-3);
  gpu_.compute_capability = 90;
  EXPECT_NEAR(in_a_step({4, 2112, 7168, DType::fp8_block}, 20), 20, 1e-9);
}

}  // namespace
}  // namespace foretoken

// What a launch takes longer in a step, by hand.
#include "kernels/estimators/in_step_predictor.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace foretoken

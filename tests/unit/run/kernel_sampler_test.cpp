// Steps that a roofline can and cannot be drawn from.

#include "sim/run/kernel_sampler.hpp"

#include <gtest/gtest.h>

namespace foretoken {
namespace {

TEST(KernelSampler, StepsThatOnlyEncodeImagesHaveNoKernelsToShow) {
  KernelSampler sampler;
  StageStep step;  // of an encode pool: nobody prices its language model
  step.encoder_time = Seconds(0.02);
  sampler.on_stage_step(step);
  EXPECT_EQ(sampler.roofline().steps, 0);
  EXPECT_TRUE(sampler.roofline().points.empty());
}

}  // namespace
}  // namespace foretoken

// What changing a GPU does to a kernel by its tasks alone, from numbers derived by hand.
#include "kernels/tasks/hardware_ratio.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken {
namespace {

class HardwareRatio : public testing::Test {
 protected:
  const GpuSpec h200_ = load_gpu("h200-sxm", {});
  const Gemm large_{
      8192, 8192, 8192, DType::bf16, {Framework::vllm, KernelSource::automatic, true}};
};

TEST_F(HardwareRatio, IsOneForACopy) {
  EXPECT_EQ(hardware_ratio(large_, h200_, h200_), 1);
  GpuSpec other = h200_;
  other.pcie_bandwidth *= 2;
  EXPECT_EQ(hardware_ratio(large_, h200_, other), 1);
}

TEST_F(HardwareRatio, HalvesWithEverythingTwiceAsFast) {
  // All rates double with clock, DRAM and L2; the launch is 2.4 of 1,100 us.
  GpuSpec other = h200_;
  other.clock *= 2;
  other.dram_bandwidth *= 2;
  other.l2_bandwidth *= 2;
  other.launch_latency *= 0.5;
  EXPECT_NEAR(hardware_ratio(large_, h200_, other), 0.5, 1e-9);
}

TEST_F(HardwareRatio, FollowsResidency) {
  // A persistent CTA of 384 threads with 168 registers takes 64,512 of an SM's 65,536: with half of
  // them its tile has room for 0.508, and what it loads an operation grows by the inverse root.
  GpuSpec other = h200_;
  other.registers_sm /= 2;
  EXPECT_NEAR(hardware_ratio(large_, h200_, other), 1 / std::sqrt(32768.0 / 64512), 0.02);
}

TEST_F(HardwareRatio, IsTheBytesWhereTheyTakeAllTheTime) {
  const Gemm few{1, 16384, 16384, DType::bf16, {Framework::vllm, KernelSource::automatic, true}};
  GpuSpec other = h200_;
  other.dram_bandwidth *= 0.1;
  EXPECT_NEAR(hardware_ratio(few, h200_, other), 10, 1.5);
}

}  // namespace
}  // namespace foretoken

// What other numbers of a GPU do to a price, and what parts nobody measured are priced by.
#include "kernels/estimators/transfer.hpp"

#include <gtest/gtest.h>

namespace foretoken::transfer_test {
namespace {

class Transfer : public testing::Test {
 protected:
  [[nodiscard]] double ratio(const Kernel& kernel, const GpuSpec& known, const GpuSpec& gpu) const {
    return transfer_ratio(*family_of(kernel, known), kernel, known, gpu);
  }

  const GpuSpec h200_ = load_gpu("h200-sxm", {});
  const Gemm large_{
      8192, 8192, 8192, DType::bf16, {Framework::vllm, KernelSource::automatic, true}};
  const Gemm fp8_{8192, 8192, 8192, DType::fp8, large_.implementation};
};

TEST_F(Transfer, IsOneForACopy) {
  GpuSpec copy = h200_;
  copy.name = "copy";
  copy.pcie_bandwidth *= 2;
  EXPECT_EQ(ratio(large_, h200_, h200_), 1);
  EXPECT_EQ(ratio(large_, h200_, copy), 1);
}

TEST_F(Transfer, KnowsThePowerLimit) {
  GpuSpec gpu = load_gpu("l40s", {});
  const GpuSpec l40s = gpu;
  gpu.power *= 0.5;
  EXPECT_NEAR(ratio(large_, l40s, gpu), 2, 0.2);
  gpu.power *= 8;
  EXPECT_LT(ratio(large_, l40s, gpu), 1);
}

// At the power limit a product in fp8 takes the energy that its format has of the 16-bit rate: the
// latter alone must not make it dearer.
TEST_F(Transfer, DoesNotFeelTheRateOfAnotherFormat) {
  GpuSpec gpu = h200_;
  gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::bf16)] *= 2;
  EXPECT_EQ(ratio(fp8_, h200_, gpu), 1);
  EXPECT_LT(ratio(large_, h200_, gpu), 1);
}

// H100 and H800 are one part with other links.
TEST_F(Transfer, IsTheMeanOfParts) {
  const GpuSpec h100 = load_gpu("h100-sxm", {}), h800 = load_gpu("h800", {});
  const auto price = [&](const GpuSpec& part) {
    return Prediction{Seconds(part.name == "h800" ? 4e-6 : 1e-6), Bound::tensor, Origin::learned};
  };
  GpuSpec gpu = h100;
  gpu.clock *= 1.5;
  const Kernel kernel = large_;
  const auto both = transferred(*family_of(kernel, gpu), kernel, {&h100, &h800}, gpu, price);
  ASSERT_TRUE(both);
  EXPECT_NEAR(both->time.value(), 2e-6 * ratio(kernel, h100, gpu), 1e-15);
  EXPECT_EQ(both->origin, Origin::transferred);
}

TEST_F(Transfer, NeedsAPartThatMultipliesInTheFormat) {
  GpuSpec gpu = h200_;
  gpu.tensor_ops_per_cycle_sm[static_cast<std::size_t>(DType::nvfp4)] = 16'384;
  const Kernel kernel = Gemm{64, 8192, 8192, DType::nvfp4, large_.implementation};
  const auto price = [](const GpuSpec&) { return Prediction{Seconds(1e-6)}; };
  EXPECT_FALSE(transferred(*family_of(kernel, gpu), kernel, {&h200_}, gpu, price));
}

}  // namespace
}  // namespace foretoken::transfer_test

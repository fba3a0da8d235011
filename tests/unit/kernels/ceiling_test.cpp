// Ceilings on artifacts made by hand: networks that say the same whatever the kernel.
#include "kernels/estimators/ceiling.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "kernels/kernel_shape.hpp"
#include "tests/own_folder.hpp"

namespace foretoken {
namespace {

class CeilingTest : public testing::Test {
 protected:
  CeilingTest() {
    folder_ = own_folder() / "files";
    std::filesystem::create_directories(folder_);
  }
  ~CeilingTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  void write_ceiling(const EstimatorFamily& family, float answer, double quantile) const {
    std::vector<FeatureScale> scales;
    for (const std::string& name : family.feature_names()) scales.push_back({name, 0, 1, -99, 99});
    const auto inputs = static_cast<int>(scales.size());
    Network constant(std::vector<NetworkLayer>{
        {inputs, 1, std::vector<float>(static_cast<std::size_t>(inputs)), {answer}}});
    Artifact artifact{
        std::string(family.name()),  family.version(), Value(), {"h200-sxm"}, 0, 0, {},
        Ensemble(scales, {constant})};
    artifact.quantile = quantile;
    std::ofstream(folder_ / (std::string(family.name()) + ".json")) << write_artifact(artifact);
  }

  std::filesystem::path folder_;
};

// 0.25 of efficiency: with the roof at 3 us and 4 us at the ceiling (0.75), 6 us are 0.5.
TEST(PerformanceGap, IsCeilingMinusEfficiency) {
  const Ceiling ceiling{
      "gemm_16bit", Seconds(4e-6), {Seconds(3e-6), Bound::tensor}, Origin::learned};
  const PerformanceGap gap = performance_gap(ceiling, Seconds(6e-6));
  EXPECT_DOUBLE_EQ(gap.ceiling, 0.75);
  EXPECT_DOUBLE_EQ(gap.efficiency, 0.5);
  EXPECT_DOUBLE_EQ(gap.gap(), 0.25);
  EXPECT_LT(performance_gap(ceiling, Seconds(3.5e-6)).gap(), 0);  // better than the ceiling
}

// The network answers log(time / T) = log(1.5): one and a half times the first-order time.
TEST_F(CeilingTest, IsTheFirstOrderTimeTimesTheNetworksAnswer) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel kernel = Gemm{8192, 8192, 8192, DType::bf16};
  const EstimatorFamily& family = *family_of(kernel, gpu);
  write_ceiling(family, 0.40546875F, 0.8);  // log(1.5) in half precision
  const auto ceiling = Ceilings(folder_.string()).find(kernel, gpu);
  ASSERT_TRUE(ceiling.has_value());
  EXPECT_EQ(ceiling->family, "gemm_16bit");
  EXPECT_EQ(ceiling->origin, Origin::learned);
  EXPECT_NEAR(ceiling->time.value(), 1.5 * family.first_order(kernel, gpu).time.value(),
              1e-3 * ceiling->time.value());
  // 2 x 8192^3 operations at the tensor peak.
  EXPECT_EQ(ceiling->roof.bound_by, Bound::tensor);
  EXPECT_NEAR(ceiling->roof.time.value(),
              2.0 * 8192 * 8192 * 8192 / gpu.tensor_rate(DType::bf16).value(), 1e-12);
  EXPECT_EQ(Ceilings(folder_.string()).find(kernel, load_gpu("l40s", {}))->origin,
            Origin::transferred);
}

TEST_F(CeilingTest, IsUnknownWithoutAnArtifact) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  EXPECT_FALSE(Ceilings(folder_.string()).find(Gemm{8, 8, 8}, gpu).has_value());
  EXPECT_FALSE(Ceilings().find(Collective{.ranks = 2, .bytes = 1}, gpu).has_value());
}

TEST_F(CeilingTest, IsNotTheTimeToExpect) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel kernel = Gemm{64, 64, 64, DType::bf16};
  write_ceiling(*family_of(kernel, gpu), 0, 0);
  try {
    static_cast<void>(Ceilings(folder_.string()).find(kernel, gpu));
    ADD_FAILURE() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_THAT(
        error.what(),
        testing::HasSubstr("was trained for the expected time, not for a ceiling; train it again: "
                           "foretoken-calibrate train --family gemm_16bit --quantile 0.8"));
  }
  write_ceiling(*family_of(kernel, gpu), 0, 0.8);
  EXPECT_THROW(TrainedFamilies(folder_.string()).find(*family_of(kernel, gpu)), ConfigError);
}

// 64 MB of weights fit no L2 here; 2 MB do, and then a warm product need not see DRAM.
TEST(Roof, WarmInputsComeFromTheL2) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel small = Gemm{1, 1024, 1024, DType::bf16};
  EXPECT_EQ(roof_of(small, gpu, true).bound_by, Bound::dram);
  EXPECT_EQ(roof_of(small, gpu, false).bound_by, Bound::l2);
  const Kernel large = Gemm{1, 16384, 4096, DType::bf16};
  EXPECT_EQ(roof_of(large, gpu, false).bound_by, Bound::dram);
}

TEST(KernelShape, SaysWhatOneWouldAsk) {
  EXPECT_EQ(kernel_shape(Gemm{64, 4096, 512, DType::fp8}), "m 64 n 4096 k 512 fp8");
  Attention attention{.query_heads = 8, .kv_heads = 2, .head_dim = 128};
  attention.load = AttentionLoad::exact({{16, 16}, {16, 16}, {1, 100}, {1, 300}});
  EXPECT_EQ(kernel_shape(attention),
            "8 heads on 2 of 128, 2 prompts of 16 + 2 decodes of 200 bf16");
  attention.load = AttentionLoad::exact({{16, 48}});
  attention.kv_dtype = DType::fp8;
  attention.window = 64;
  EXPECT_EQ(kernel_shape(attention),
            "8 heads on 2 of 128, 1 chunks of 16 in 48 bf16, cache fp8 window 64");
  const FusedMoe moe{.tokens = 32, .experts = 8, .topk = 2, .hidden = 4096, .intermediate = 14336};
  EXPECT_EQ(kernel_shape(moe), "32 tokens, top 2 of 8, 4096 x 14336 bf16, tp 1 ep 1, balanced");
  EXPECT_EQ(kernel_shape(RmsNorm{4, 512}), "4 tokens of 512");
}

}  // namespace
}  // namespace foretoken

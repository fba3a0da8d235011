// What the baselines that are networks learn from: Table IV by hand, and tables made anew.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "calibration/datasets/family_table.hpp"
#include "kernels/estimators/neusight.hpp"
#include "kernels/estimators/paper_family.hpp"

namespace foretoken {
namespace {

// T is the launch and the busiest SM's math or the compulsory bytes, whichever is longer; a side
// left out leaves both T and the features.
TEST(PaperFamily, IsTableFour) {
  const GpuSpec gpu = load_gpu("h200-sxm", {});
  const Kernel kernel = Gemm{192, 256, 1024, DType::bf16, {Framework::vllm, KernelSource::triton}};
  const EstimatorFamily& base = *family_of(kernel, gpu);
  // Six tiles of 64 x 128 on as many SMs: 2 x 64 x 128 x 1024 operations, 4,096 a cycle.
  const double math = 4096 / gpu.clock.value();
  const double bytes = (192.0 * 1024 + 256 * 1024 + 192 * 256) * 2;
  const double memory = bytes / gpu.dram_bandwidth.value();
  ASSERT_GT(math, memory);
  const auto time = [&](PaperVariant variant) {
    return paper_family(base, variant).first_order(kernel, gpu).time.value();
  };
  const double launch = gpu.launch_latency.value();  // one
  EXPECT_NEAR(time(PaperVariant::whole), launch + math, 1e-9 * math);
  EXPECT_NEAR(time(PaperVariant::without_mio), launch + math, 1e-9 * math);
  EXPECT_NEAR(time(PaperVariant::without_math), launch + memory, 1e-9 * memory);
  const EstimatorFamily& whole = paper_family(base, PaperVariant::whole);
  ASSERT_EQ(whole.feature_names().size(), 12u + 7u);
  EXPECT_EQ(paper_family(base, PaperVariant::without_mio).feature_names().size(), 12u);
  EXPECT_EQ(paper_family(base, PaperVariant::without_math).feature_names().size(), 7u);
  std::array<float, 19> values{};
  FeatureSink sink(values);
  whole.features(kernel, gpu, sink);
  EXPECT_FLOAT_EQ(values[0], static_cast<float>(std::log1p(6 * 2.0 * 64 * 128 * 1024)));
  EXPECT_FLOAT_EQ(values[3], static_cast<float>(std::log1p(4096.0)));  // cycles of the busiest SM
  // (64 + 128) x 1024 x 2 bytes a tile.
  EXPECT_FLOAT_EQ(values[12], static_cast<float>(std::log1p(6 * 393216.0)));
}

TEST(FamilyTable, IsSeenAnewByABaseline) {
  Dataset dataset;
  const auto add = [&](std::int64_t m, const std::string& gpu, int file) {
    const Gemm gemm{m, 4096, 4096, DType::bf16};
    dataset.samples.push_back(
        {gemm, gpu, Seconds(20e-6), "torch", "aiconfigurator", "n4096 k4096", file});
  };
  dataset.files = {{"a.csv", "0123", false}, {"b.csv", "4567", true}};
  add(1, "h200-sxm", 0);
  add(64, "l40s", 1);
  add(4096, "h200-sxm", 1);
  const FamilyTable table = tabulate(*estimator_families().front(), dataset, true);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_FALSE(table.rows[0].is_own);
  EXPECT_TRUE(table.rows[1].is_own);
  const EstimatorFamily& baseline = neusight_family(*table.family);
  const std::size_t indices[] = {0, 2};
  const FamilyTable other = retabulated(table, indices, baseline);
  ASSERT_EQ(other.rows.size(), 2u);
  EXPECT_EQ(other.features, baseline.feature_names().size());
  EXPECT_EQ(other.rows[1].file, 1);
  const double first =
      baseline.first_order(table.kernels[2], load_gpu("h200-sxm", {})).time.value();
  EXPECT_DOUBLE_EQ(other.rows[1].first_order, first);
  EXPECT_DOUBLE_EQ(other.rows[1].log_ratio, std::log(20e-6 / first));
}

}  // namespace
}  // namespace foretoken

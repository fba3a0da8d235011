// The fit of the wave model finds the constants that launches were made with.
#include "calibration/fit/wave_laws_fit.hpp"

#include <gtest/gtest.h>

namespace foretoken::wave_laws_fit_test {
namespace {

/// Products on two GPUs that take `start` launches, `math` times their busiest SM's tensor time and
/// `memory` times their bytes.
Dataset products(double start, double math, double memory) {
  Dataset dataset;
  for (const char* name : {"h200-sxm", "l40s"}) {
    const GpuSpec gpu = load_gpu(name, {});
    for (const std::int64_t m : {1, 8, 32, 64, 128, 512, 1024, 4096}) {
      for (const std::int64_t n : {512, 2048, 4096, 8192, 14336, 28672, 1024, 6144}) {
        const Gemm gemm{m, n, 4096, DType::bf16, {Framework::vllm, KernelSource::cublas, true}};
        const LaunchWaves waves = launch_waves(gemm, gpu);
        const double time = start * waves[WaveColumn::launches] + math * waves[WaveColumn::math] +
                            memory * waves[WaveColumn::dram];
        dataset.samples.push_back({gemm, name, Seconds(time), "vllm", "made", "layout", -1});
      }
    }
  }
  return dataset;
}

TEST(WaveLawsFit, FindsWhatLaunchesWereMadeWith) {
  const Dataset dataset = products(1.5, 1.25, 0.75);
  const FamilyTable table = tabulate(*estimator_families().front(), dataset, true);
  Rows rows(table.rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  ASSERT_EQ(rows.size(), 128u);
  const WaveLaws::Laws laws = fit_judged_wave_laws(table, rows, rows);
  // Of the family, of its one source, and of that on each GPU.
  ASSERT_EQ(laws.size(), 4u);
  for (const auto& [key, law] : laws) {
    for (const double constant : law.constants) EXPECT_GE(constant, 0);
    EXPECT_LT(law.error, 0.02) << key.gpu;
  }
  const WaveLaw& h200 =
      laws.at({"gemm_16bit", Implementation{Framework::vllm, KernelSource::cublas}, "h200-sxm"});
  // A layout that it never saw.
  const Gemm other{2048, 5120, 4096, DType::bf16, {Framework::vllm, KernelSource::cublas, true}};
  const LaunchWaves waves = launch_waves(other, load_gpu("h200-sxm", {}));
  const double time = 1.5 * waves[WaveColumn::launches] + 1.25 * waves[WaveColumn::math] +
                      0.75 * waves[WaveColumn::dram];
  EXPECT_NEAR(h200.time(waves).value(), time, 0.02 * time);
}

TEST(WaveLawsFit, FewLaunchesHaveNoLaw) {
  const Dataset dataset = products(1, 1, 1);
  const FamilyTable table = tabulate(*estimator_families().front(), dataset, true);
  EXPECT_TRUE(fit_wave_laws(table, {0, 1, 2}).empty());
}

}  // namespace
}  // namespace foretoken::wave_laws_fit_test

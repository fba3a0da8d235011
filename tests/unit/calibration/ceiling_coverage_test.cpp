// Ceilings on layouts that they were not trained on.
#include "calibration/evaluate/ceiling_coverage.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace foretoken {
namespace {

/// Prints all lines; holds families with at least `launches_min` held-out launches to the range.
void expect_coverage(const Dataset& dataset, std::size_t launches_min, double low, double high,
                     std::set<std::string> families) {
  for (const CoverageLine& line : ceiling_coverage(dataset, Ceilings())) {
    std::cout << fmt::format("{:26} {:10} {:8} launches, {:5.1f} % below the ceiling\n",
                             line.family, line.gpu, line.launches, 100 * line.share());
    if (line.gpu != "all" || line.launches < launches_min) continue;
    families.erase(line.family);
    EXPECT_GE(line.share(), low) << line.family;
    EXPECT_LE(line.share(), high) << line.family;
  }
  EXPECT_TRUE(families.empty()) << *families.begin() << " has no held-out launches";
}

Dataset held_out(const std::function<Dataset(const KeepSample&)>& load) {
  return load([](const Sample& sample) { return is_held_out_layout(sample.layout); });
}

TEST(CeilingCoverage, HoldsOnOurOwnProducts) {
  const Dataset dataset = held_out([](const KeepSample& keep) {
    return load_own_measurements(std::string(FORETOKEN_SOURCE_DIR) + "/calibration/datasets/h200",
                                 keep);
  });
  expect_coverage(dataset, 1000, 0.7, 0.95, {"gemm_16bit", "gemm_fp8"});
}

TEST(CeilingCoverage, HoldsOnPublicMeasurements) {
  const char* const folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  const Dataset dataset =
      held_out([&](const KeepSample& keep) { return load_foretoken_data(folder, keep); });
  expect_coverage(dataset, 1000, 0.7, 0.9,
                  {"gemm_16bit", "gemm_fp8", "attention_decode", "attention_prefill",
                   "moe_triton_16bit", "moe_triton_8bit"});
}

}  // namespace
}  // namespace foretoken

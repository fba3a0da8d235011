#include "kernels/stretched_predictor.hpp"

#include <gmock/gmock.h>

#include "tests/unit/kernels/example_gpu.hpp"

namespace foretoken {
namespace {

/// A second for everything.
class OneSecond final : public Predictor {
 public:
  [[nodiscard]] Prediction predict(const Kernel& /*kernel*/,
                                   const GpuSpec& /*gpu*/) const override {
    return {Seconds(1), Bound::dram, Origin::learned, 0.08};
  }
};

TEST(StretchedPredictor, MultipliesTheTimesOfAFamilyAndNothingElse) {
  const auto predictor =
      stretched(std::make_unique<OneSecond>(), {{"gemm", 1.5}, {"rms_norm", 0.5}, {"gemm", 2.0}});
  const Prediction gemm = predictor->predict(Gemm{4, 8, 8}, example_gpu());
  EXPECT_EQ(gemm.time, Seconds(3));
  EXPECT_EQ(gemm.bound_by, Bound::dram);
  EXPECT_EQ(gemm.origin, Origin::learned);
  EXPECT_EQ(predictor->predict(RmsNorm{5, 8}, example_gpu()).time, Seconds(0.5));
  EXPECT_EQ(predictor->predict(FusedAddRmsNorm{5, 8}, example_gpu()).time, Seconds(1));
}

TEST(StretchedPredictor, IsTheOneInsideWhereNothingIsStretched) {
  auto inner = std::make_unique<OneSecond>();
  const Predictor* address = inner.get();
  EXPECT_EQ(stretched(std::move(inner), {}).get(), address);
}

TEST(StretchedPredictor, NamesTheFamiliesThatPredictorsPrice) {
  EXPECT_THAT(predicted_families(), ::testing::IsSupersetOf({"gemm", "attention", "fused_moe"}));
  EXPECT_THAT(predicted_families(), ::testing::Not(::testing::Contains("all_reduce")));
  EXPECT_THAT(predicted_families(), ::testing::Not(::testing::Contains("")));
}

}  // namespace
}  // namespace foretoken

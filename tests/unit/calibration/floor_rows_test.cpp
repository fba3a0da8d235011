#include "calibration/evaluate/floor_rows.hpp"

#include <gmock/gmock.h>

namespace foretoken {
namespace {

using testing::HasSubstr;

// 8192^3 in bf16 is 1.1 Tflop: 1.11 ms at the 989 Tflop/s of an H100.
TEST(FloorRows, CountWhatIsFasterThanPeak) {
  const GpuSpec gpu = load_gpu("h100-sxm", {});
  const Gemm gemm{8192, 8192, 8192, DType::bf16};
  const Seconds least = least_time(gemm, gpu).time;
  ASSERT_NEAR(least.value(), 1.11e-3, 0.01e-3);
  FloorRows rows;
  for (const double share : {2.0, 1.0, 0.9, 0.5}) {
    rows.add({gemm, "h100-sxm", least * share, "cublas", "own", "(8192,8192)"}, gpu);
  }
  ASSERT_EQ(rows.counts().size(), 1U);
  const FloorRows::Count& count = rows.counts().begin()->second;
  EXPECT_EQ(count.rows, 4);
  EXPECT_EQ(count.below, 2);
  EXPECT_DOUBLE_EQ(count.lowest, 0.5);
  EXPECT_EQ(count.lowest_bound, Bound::tensor);
  EXPECT_THAT(rows.text(), HasSubstr("tensor; (8192,8192), cublas"));
  EXPECT_THAT(rows.text(), HasSubstr("2 of 4 rows are faster than physics allows (50.00 %)"));
}

}  // namespace
}  // namespace foretoken

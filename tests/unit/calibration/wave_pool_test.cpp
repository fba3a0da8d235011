// What the pool that the regions advise costs, on the committed grids.
#include "calibration/fit/wave_pool.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace foretoken {
namespace {

const PoolRegrets& row_of(const std::vector<PoolRegrets>& rows, const std::string& method) {
  for (const PoolRegrets& row : rows)
    if (row.method == method) return row;
  throw std::out_of_range(method);
}

// Without a measurement the advice leaves out three fifths of the configurations for nothing; with
// some it leaves out small gains of GROUP_M that measurements have found, and is not taken.
TEST(WavePool, AdviceCostsNothingWhereNothingWasMeasured) {
  const MoeGrid grid =
      load_moe_grid(FORETOKEN_SOURCE_DIR "/calibration/datasets/h200/moe_grid_fp8.csv.gz");
  const auto rows = judge_pools(grid, {});
  ASSERT_EQ(rows.size(), 6U);
  const PoolRegrets& whole = row_of(rows, "specification alone, whole pool");
  const PoolRegrets& few = row_of(rows, "specification alone, advised");
  EXPECT_EQ(whole.tried, 134);
  // Two layers with tiles alone (27), two with split-K (67), four with GROUP_M (54).
  EXPECT_DOUBLE_EQ(few.tried, (2 * 27 + 2 * 67 + 4 * 54) / 8.0);
  EXPECT_NEAR(few.regret, whole.regret, 0.001);
  EXPECT_GT(row_of(rows, "two-level, advised").regret,
            row_of(rows, "two-level, whole pool").regret + 0.002);
}

}  // namespace
}  // namespace foretoken

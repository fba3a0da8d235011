// Layers of experts below their ceiling, from the committed times of every configuration on an
// H100.
#include "calibration/fit/tuning_report.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

namespace foretoken::tuning_report_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

MoeGrid h100() {
  return load_moe_grid(FORETOKEN_SOURCE_DIR "/calibration/datasets/h100/moe_tuning_bf16.csv.gz");
}

TEST(TuningReport, ClosesTheGapsOfLayersBelowTheirCeiling) {
  const MoeGrid grid = h100();
  const TuningReport report(grid);
  EXPECT_EQ(report.layers().size(), 106U);  // of 121, those with at least 99 of 110 configurations
  int below = 0, still_below = 0;
  for (const TunedLayer& layer : report.layers()) {
    EXPECT_GE(layer.best, 1);  // the fallback is one of them
    EXPECT_GE(layer.best, layer.gained);
    EXPECT_GE(layer.promised, 1);
    EXPECT_LE(layer.best_gap, layer.chosen_gap);
    if (layer.gap <= 0.1) continue;
    ++below;
    still_below += layer.best_gap > 0.1 ? 1 : 0;
    // Efficiency falls as one over the time: ceiling - gap is it.
    EXPECT_LT(layer.best_gap, layer.gap);
  }
  EXPECT_EQ(below, 37);
  EXPECT_EQ(still_below, 0);
  EXPECT_THAT(report.text(), HasSubstr("106 layers x 110 configurations"));
  for (const PromisedGain& gain : report.elsewhere()) {
    EXPECT_GE(gain.mean, 1) << gain.gpu;
    EXPECT_GE(gain.most, gain.mean) << gain.gpu;
  }
}

// A time that is halved doubles the efficiency and moves the gap by what it gained.
TEST(TuningReport, GapsFollowTimes) {
  MoeGrid grid = h100();
  const TuningReport before(grid);
  const MoeGridPoint* point = before.layers().front().point;
  const double gap = before.layers().front().gap, best_gap = before.layers().front().best_gap,
               best = before.layers().front().best;
  // ceiling - e against ceiling - e * best: the difference is e (best - 1).
  const double efficiency = (gap - best_gap) / (best - 1);
  for (MoeGridPoint& each : grid.points) {
    if (&each != point) continue;
    for (double& time : each.times_us) time /= 2;
  }
  EXPECT_NEAR(TuningReport(grid).layers().front().gap, gap - efficiency, 1e-9);
}

TEST(TuningReport, WantsTheFallbackAmongTheConfigurations) {
  MoeGrid grid = h100();
  for (MoeTile& tile : grid.tiles) tile.stages += 3;
  EXPECT_THAT([&] { TuningReport{grid}; },
              ThrowsMessage<ConfigError>(HasSubstr("moe_tuning_triton.py")));
}

}  // namespace
}  // namespace foretoken::tuning_report_test

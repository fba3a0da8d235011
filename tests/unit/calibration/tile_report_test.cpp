// What tile models select on an H200, from the committed times of every tile.
#include "calibration/evaluate/tile_report.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "calibration/evaluate/tile_gap_report.hpp"

namespace foretoken::tile_report_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<TileTimes>& h200() {
  static const std::vector<TileTimes> times =
      load_tile_times(FORETOKEN_SOURCE_DIR "/calibration/datasets/h200/gemm_tiles.csv.gz");
  return times;
}

TEST(TileTimes, AreWhole) {
  ASSERT_EQ(h200().size(), 1U);
  EXPECT_EQ(h200()[0].gpu, "h200-sxm");
  EXPECT_EQ(h200()[0].shapes.size(), 380U);
  for (const TiledShape& shape : h200()[0].shapes) {
    EXPECT_GT(shape.cublas, Seconds(0));
    EXPECT_GT(shape.tiles.size(), 100U);
    EXPECT_LE(*shape.best().raced, std::ranges::min(shape.tiles, {}, [](const TileTime& time) {
                                     return time.raced.value_or(Seconds(1));
                                   }).raced);
  }
}

TEST(TileReport, OurModelReaches97PerCentOfTheBestOnLayersItWasNotFittedTo) {
  const TileReport report(h200()[0]);
  const TileReport::Line* const judged = report.find("foretoken_2026", "all", "judged");
  ASSERT_NE(judged, nullptr);
  EXPECT_GT(judged->shapes, 100U);
  EXPECT_GE(judged->mean, 0.97);
  for (const char* published : {"origami_2025", "origami_2026"}) {
    const TileReport::Line* const line = report.find(published, "all", "judged");
    ASSERT_NE(line, nullptr);
    EXPECT_LT(line->mean, judged->mean);
    EXPECT_GT(line->mean, 0.5);
  }
  EXPECT_THAT(report.text(3), HasSubstr("The worst of foretoken_2026"));
}

// What is missing to cuBLAS: each cost taken away brings the tile nearer, all of them most.
TEST(TileGapReport, TellsWhatAPlainLoopLacks) {
  const TileGapReport report(h200()[0]);
  ASSERT_EQ(report.lines().size(), 8U);
  const auto all = [&](std::size_t i) { return report.lines()[i].speeds.at("all"); };
  EXPECT_EQ(report.lines()[1].name, "selected");
  EXPECT_LE(all(1), all(0));
  for (std::size_t i = 3; i < 7; ++i) {
    EXPECT_GT(all(i), all(2)) << report.lines()[i].name;
    EXPECT_LT(all(i), all(7)) << report.lines()[i].name;
  }
  EXPECT_THAT(report.text(), HasSubstr("cuBLAS = 1"));
}

TEST(TileReport, BothHalvesKeepLayersWhole) {
  EXPECT_EQ(is_fitted_shape(tiled_product(1, 4096, 4096, DType::bf16)),
            is_fitted_shape(tiled_product(8192, 4096, 4096, DType::bf16)));
}

TEST(TileTimes, SayWhoWritesThem) {
  EXPECT_THAT([] { (void)load_tile_times(FORETOKEN_SOURCE_DIR "/examples"); },
              ThrowsMessage<ConfigError>(HasSubstr("gemm_tiles_triton.py")));
}

}  // namespace
}  // namespace foretoken::tile_report_test

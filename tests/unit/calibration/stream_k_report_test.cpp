// What Stream-K's grids give on an H200, from the committed times, and the price of a grid.
#include "calibration/evaluate/stream_k_report.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "calibration/fit/stream_k_fit.hpp"
#include "tests/own_folder.hpp"

namespace foretoken::stream_k_report_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<StreamKTimes>& h200() {
  static const std::vector<StreamKTimes> times =
      load_stream_k_times(FORETOKEN_SOURCE_DIR "/calibration/datasets/h200/stream_k.csv.gz");
  return times;
}

TEST(StreamKTimes, AreWhole) {
  ASSERT_EQ(h200().size(), 1U);
  EXPECT_EQ(h200()[0].gpu, "h200-sxm");
  EXPECT_EQ(h200()[0].cases.size(), 184U);
  for (const StreamKCase& one : h200()[0].cases) {
    EXPECT_GT(one.plain, Seconds(0));
    EXPECT_GE(one.grids.size(), 3U);
    EXPECT_EQ(one.nearest(one.tiles()).grid, one.tiles());
    EXPECT_LE(one.best().time, one.whole());
  }
}

TEST(StreamKTimes, RefuseWhatIsNoCase) {
  const auto read = [](const std::string& rows) {
    return [rows] {
      const std::string path = own_folder() / "stream_k.csv";
      std::ofstream(path) << "# format: foretoken stream k 1\n# gpu: NVIDIA H200\n# sm_count: 132\n"
                             "class,m,n,k,method,block_m,block_n,block_k,warps,stages,group_m,"
                             "split_k,grid,time_us\n"
                          << rows;
      (void)load_stream_k_times(path);
    };
  };
  const std::string whole = "few,64,128,512,data_parallel,64,64,64,4,3,1,1,2,9\n";
  const std::string grid = "few,64,128,512,stream_k,64,64,64,4,3,1,1,2,10\n";
  EXPECT_NO_THROW(read(whole + grid)());
  EXPECT_THAT(read(grid), ThrowsMessage<ConfigError>(HasSubstr("must begin with data_parallel")));
  EXPECT_THAT(read(whole), ThrowsMessage<ConfigError>(HasSubstr("no Stream-K grid of 2 CTAs")));
  EXPECT_THAT(read(whole + "few,64,128,512,magic,64,64,64,4,3,1,1,2,10\n"),
              ThrowsMessage<ConfigError>(HasSubstr("unknown method 'magic'")));
  EXPECT_THAT(read("few,64,128,512,data_parallel,64,64,64,4,3,1,1,2,0\n"),
              ThrowsMessage<ConfigError>(HasSubstr("must be positive")));
}

TEST(StreamKReport, OurGridsAreFasterThanAnyPolicyOnShapesTheyWereNotFittedTo) {
  const StreamKReport report(h200());
  const StreamKReport::Line* const ours = report.find("cheapest", "judged");
  ASSERT_NE(ours, nullptr);
  EXPECT_GT(ours->cases, 80U);
  EXPECT_LT(ours->mean, 0.9);
  EXPECT_LT(ours->over_best, 1.06);
  EXPECT_LT(ours->error, 0.15);
  for (const StreamKReport::Line& line : report.lines()) {
    if (line.half != "judged" || line.who.starts_with("(") || line.who == "cheapest") continue;
    EXPECT_GT(line.mean, ours->mean) << line.who;
  }
  EXPECT_EQ(report.find("data_parallel", "all")->mean, 1);
  EXPECT_EQ(report.find("(best grid measured)", "all")->over_best, 1);
  EXPECT_THAT(report.text(), HasSubstr("184 GEMMs with a tile"));
  // It wins where split-K does: in four of five cases, by nearly as much.
  const StreamKReport::Line* const where_split = report.find("cheapest", "split");
  ASSERT_NE(where_split, nullptr);
  EXPECT_EQ(where_split->cases, 48U);
  EXPECT_GT(where_split->wins, 0.75);
  EXPECT_LT(where_split->mean, report.find("(plain, split as selected)", "split")->mean + 0.05);
  EXPECT_EQ(StreamKReport({}).text(), "");
}

TEST(StreamKFit, ChangesWhatStreamKAddsAlone) {
  TileConstants start = embedded_tile_constants();
  start.partner *= 3;
  start.unaligned *= 0.3;
  const StreamKFit fit = fit_stream_k(h200(), start);
  EXPECT_LT(fit.loss, 0.9 * fit.start_loss);
  for (const TileConstants::Field& field : TileConstants::tile_fields()) {
    EXPECT_EQ(fit.constants.*field.member, start.*field.member) << field.name;
  }
  EXPECT_THROW((void)fit_stream_k({}, start), ConfigError);
}

}  // namespace
}  // namespace foretoken::stream_k_report_test

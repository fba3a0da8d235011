#include "workloads/routing_draw.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/own_folder.hpp"
#include "workloads/histogram_file.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;

class RoutingDrawTest : public ::testing::Test {
 protected:
  std::filesystem::path folder = own_folder();

  void write(const char* name, const char* text) { std::ofstream(folder / name) << text; }

  std::string error_of(const std::string& text, int experts) {
    try {
      parse_routing_draw(text, experts, folder, {"s.toml", 3});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(RoutingDrawTest, IsToldFromASingleRouting) {
  EXPECT_TRUE(is_routing_draw("balancedness:0.5+-0.1"));
  EXPECT_TRUE(is_routing_draw("histograms:steps.jsonl"));
  EXPECT_FALSE(is_routing_draw("balancedness:0.5"));
  EXPECT_FALSE(is_routing_draw("balanced"));
}

// The middle two of 32 quantiles of N(0.5, 0.1) lie at -+0.0392 deviations, the outer ones
// at 2.154.
TEST_F(RoutingDrawTest, BalancednessHasEquallyLikelyQuantiles) {
  const RoutingDraw draw = parse_routing_draw("balancedness:0.5+-0.1", 64, folder, {});
  ASSERT_EQ(draw.each.size(), 32U);
  EXPECT_NEAR(draw.each[16].parameter - 0.5, 0.00392, 1e-5);
  EXPECT_NEAR(draw.each[0].parameter, 0.5 - 0.2154, 1e-4);
  EXPECT_NEAR(typical_routing(draw).parameter, 0.5, 1e-12);
  // Cut at the ends.
  const RoutingDraw high = parse_routing_draw("balancedness:0.95+-0.2", 64, folder, {});
  EXPECT_EQ(high.each.back().parameter, 1.0);
  EXPECT_LT(typical_routing(high).parameter, 0.95);
}

TEST_F(RoutingDrawTest, HistogramsAreLinesOfAFile) {
  write("steps.jsonl", "[3, 0, 1]\n\n0 2 2\n");
  const RoutingDraw draw = parse_routing_draw("histograms:steps.jsonl", 3, folder, {});
  ASSERT_EQ(draw.each.size(), 2U);
  EXPECT_EQ(draw.each[0].counts, (std::vector<std::int64_t>{3, 0, 1}));
  EXPECT_EQ(typical_routing(draw).counts, (std::vector<std::int64_t>{3, 2, 3}));
  EXPECT_EQ(draw.text, "histograms:" + (folder / "steps.jsonl").lexically_normal().string());
}

TEST_F(RoutingDrawTest, MistakesAreNamed) {
  EXPECT_EQ(error_of("balancedness:0.5+-x", 64),
            "s.toml:3: routing 'balancedness:0.5+-x': mean and deviation of the balancedness must "
            "be above 0 and at most 1, for example \"balancedness:0.55+-0.06\"");
  EXPECT_THROW(parse_routing_draw("balancedness:nan+-0.1", 64, folder, {"s.toml", 3}), ConfigError);
  EXPECT_THROW(parse_routing_draw("balancedness:0.5+-nan", 64, folder, {"s.toml", 3}), ConfigError);
  EXPECT_THAT(error_of("histograms:nowhere.txt", 3), HasSubstr("s.toml:3: cannot read '"));
  write("short.txt", "1 2 3\n1 2\n");
  EXPECT_THAT(error_of("histograms:short.txt", 3),
              HasSubstr("short.txt:2: holds 2 counts; the model has 3 experts"));
  write("cut.txt", "1 2 3\n1 2");
  EXPECT_THAT(
      error_of("histograms:cut.txt", 3),
      HasSubstr(
          "the model has 3 experts; this last line is not terminated, so the file may be cut off"));
  write("open.txt", "[1, 2, 3]\n[10, 2, 3");
  EXPECT_THAT(error_of("histograms:open.txt", 3),
              HasSubstr("open.txt:2: its list does not end; the file may be cut off"));
  write("closed.txt", "1, 2, 3]\n");
  EXPECT_THAT(error_of("histograms:closed.txt", 3),
              HasSubstr("closed.txt:1: its list does not begin"));
  write("words.txt", "1 two 3\n");
  EXPECT_THAT(
      error_of("histograms:words.txt", 3),
      HasSubstr(
          "words.txt:1: 'two' is not a count: a histogram is a list of whole numbers from 0"));
  write("zeros.txt", "0 0 0\n");
  EXPECT_THAT(error_of("histograms:zeros.txt", 3), HasSubstr("holds no assignment at all"));
  write("empty.txt", "\n");
  EXPECT_THAT(error_of("histograms:empty.txt", 3), HasSubstr("write one per line"));
}

TEST_F(RoutingDrawTest, HistogramsThatWeWroteAreCheckedToTheDigit) {
  const std::vector<std::vector<std::int64_t>> histograms = {{120, 0, 7}, {34, 56, 78}};
  const std::string text = histogram_file_text(histograms);
  write("drawn.jsonl", text.c_str());
  const RoutingDraw draw = parse_routing_draw("histograms:drawn.jsonl", 3, folder, {});
  ASSERT_EQ(draw.each.size(), 2U);
  EXPECT_EQ(draw.each[1].counts, histograms[1]);
  // Whatever bit of it is turned, or wherever it ends: refused, or the same numbers.
  std::vector<std::string> damaged;
  for (std::size_t at = 0; at < text.size(); ++at) {
    damaged.push_back(text.substr(0, at));
    for (int bit = 0; bit < 8; ++bit) {
      damaged.push_back(text);
      damaged.back()[at] = static_cast<char>(damaged.back()[at] ^ (1 << bit));
    }
  }
  std::size_t refused = 0;
  for (const std::string& each : damaged) {
    std::ofstream(folder / "damaged.jsonl") << each;
    try {
      const RoutingDraw found = parse_routing_draw("histograms:damaged.jsonl", 3, folder, {});
      EXPECT_EQ(found.each, draw.each) << each;
    } catch (const ConfigError& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr("damaged.jsonl")) << each;
    }
  }
  EXPECT_GT(refused, damaged.size() / 2);
  std::ofstream(folder / "damaged.jsonl") << text.substr(0, text.size() - 4) << "9]\n";
  EXPECT_THAT(error_of("histograms:damaged.jsonl", 3),
              HasSubstr("its numbers do not match its checksum"));
}

}  // namespace
}  // namespace foretoken

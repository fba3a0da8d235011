// Columns, cuts and colours of terminal text; the numbers and charts that go into it.
#include "sim/report/terminal_text.hpp"

#include <gmock/gmock.h>

#include "sim/report/charts.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

TEST(DisplayWidth, CountsCodePointsAndNoEscapes) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("12 µs"), 5);
  EXPECT_EQ(display_width("✓ ≤ █▏"), 6);
  EXPECT_EQ(display_width("\x1b[1;32mok\x1b[0m!"), 3);
  EXPECT_EQ(display_width("cut \x1b[3"), 4);  // an escape that never ends
}

TEST(Fitted, LeavesWhatFits) { EXPECT_EQ(fitted("µµµ", 3), "µµµ"); }

TEST(Fitted, CutsBetweenCodePoints) {
  EXPECT_EQ(fitted("µµµµ", 3), "µµ…");
  EXPECT_EQ(fitted("long", 1), "…");
  EXPECT_EQ(fitted("long", 0), "");
}

TEST(Fitted, SwitchesColourOffAfterTheCut) {
  EXPECT_EQ(fitted("\x1b[1mstrong words\x1b[0m", 7), "\x1b[1mstrong…\x1b[0m");
}

TEST(Padded, FillsToColumnsNotBytes) {
  EXPECT_EQ(padded("µs", 4, Align::left), "µs  ");
  EXPECT_EQ(padded("µs", 4, Align::right), "  µs");
  EXPECT_EQ(padded("too long", 4, Align::right), "too long");
}

TEST(Ink, ColoursOnlyWhenAsked) {
  EXPECT_EQ(Ink(true).good("✓"), "\x1b[32m✓\x1b[0m");
  EXPECT_EQ(Ink(false).good("✓"), "✓");
  EXPECT_EQ(Ink(true).strong(""), "");
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(std::int64_t{0}), "0");
  EXPECT_EQ(grouped(std::int64_t{999}), "999");
  EXPECT_EQ(grouped(std::int64_t{1000}), "1,000");
  EXPECT_EQ(grouped(std::int64_t{-1234567}), "-1,234,567");
  EXPECT_EQ(grouped(std::int64_t{-123}), "-123");
  EXPECT_EQ(grouped(1234.5, 2), "1,234.50");
  EXPECT_EQ(grouped(0.0, 1), "0.0");
  EXPECT_EQ(grouped(1.234e12, 1), "1.23e+12");
}

TEST(Brief, HasThreeDigitsAndWholeNumbersFromAHundredUp) {
  EXPECT_EQ(brief(0), "0");
  EXPECT_EQ(brief(1.2e-7), "1.20e-07");
  EXPECT_EQ(brief(0.01234), "0.0123");
  EXPECT_EQ(brief(0.9996), "1.00");
  EXPECT_EQ(brief(9.996), "10.0");
  EXPECT_EQ(brief(12.34), "12.3");
  EXPECT_EQ(brief(99.96), "100");
  EXPECT_EQ(brief(4012.3), "4,012");
  EXPECT_EQ(brief(2e10), "2.00e+10");
}

TEST(Percent, NeverShowsATraceAsNothing) {
  EXPECT_EQ(percent(0), "0.0 %");
  EXPECT_EQ(percent(0.0001), "<0.1 %");
  EXPECT_EQ(percent(0.3424), "34.2 %");
  EXPECT_EQ(percent(1), "100.0 %");
}

TEST(Attained, IsNeverMoreThanItWas) {
  EXPECT_EQ(attained(0.98976), "98.97");
  EXPECT_EQ(attained(0.29), "29");
  EXPECT_EQ(attained(0.99999), "99.99");
  EXPECT_EQ(attained(1), "100");
}

TEST(Duration, PicksTheUnit) {
  EXPECT_EQ(duration(0), "0 s");
  EXPECT_EQ(duration(12.5e-6), "12.5 µs");
  EXPECT_EQ(duration(0.8121), "812 ms");
  EXPECT_EQ(duration(0.99999), "1.0 s");
  EXPECT_EQ(duration(17.34), "17.3 s");
  EXPECT_EQ(duration(119.99), "2 min 00 s");
  EXPECT_EQ(duration(245), "4 min 05 s");
  EXPECT_EQ(duration(7199.9), "2 h 00 min");
  EXPECT_EQ(duration(12300), "3 h 25 min");
  EXPECT_EQ(duration(3.6e7 + 60), "10,000 h 01 min");
}

TEST(Counted, ForOneAndForMany) {
  EXPECT_EQ(counted(0, "request"), "0 requests");
  EXPECT_EQ(counted(1, "request"), "1 request");
  EXPECT_EQ(counted(12345, "request"), "12,345 requests");
}

TEST(Bar, IsDrawnToAnEighthOfAColumn) {
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(0.40625, 4), "█▋");  // 13 of 32 eighths: one column and five eighths
  EXPECT_EQ(bar(1e-9, 4), "▏");
  EXPECT_EQ(bar(7, 4), "████");
}

TEST(Sparkline, StretchesFewValuesAndGathersManyByTheirLargest) {
  EXPECT_EQ(sparkline({0, 7}, 4), "▁▁██");
  EXPECT_EQ(sparkline({1, 7, 2, 3}, 2), "█▄");  // pairs (1, 7) and (2, 3); 3 of 7 is level 3
  EXPECT_EQ(sparkline({}, 4), "");
}

TEST(Sparkline, OnlyZeroIsTheLowestBlock) {
  EXPECT_EQ(sparkline({0, 0, 0}, 3), "▁▁▁");
  EXPECT_EQ(sparkline({0, 1e-6, 1000}, 3), "▁▂█");
}

TEST(Sparkline, HasAllItsColumnsWhateverTheNumberOfValues) {
  for (std::size_t values = 1; values < 50; ++values) {
    EXPECT_EQ(display_width(sparkline(std::vector<double>(values, 1.0), 13)), 13);
  }
}

}  // namespace
}  // namespace foretoken

// Pages: what they hold, how columns are packed, and that nothing a user wrote can break out of it.
// tests/page opens them in a browser.
#include "sim/report/page.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "sim/base/json.hpp"
#include "sim/report/page_column.hpp"
#include "sim/report/page_files.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace foretoken {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr double nothing = std::numeric_limits<double>::quiet_NaN();

TEST(PageColumn, PacksNumbersAsVarintsInBase64) {
  // Of 10^-1: 0, -5, empty, 640; zigzag + 1: 1, 10, (0), 1281 = 1 + 10 * 128 -> 81 0a.
  // The bytes 01 0a 00 81 0a; as differences 0, -5, 645 (1291 -> 8b 0a): as long, so not taken.
  const Value value = column_value(PageColumn::of_numbers("TTFT", "ms", 1, {0, -0.5, nothing, 64}));
  EXPECT_EQ(to_json(value, -1),
            R"({"name":"TTFT","unit":"ms","rows":4,"decimals":1,"delta":false,"data":"AQoAgQo="})");
}

TEST(PageColumn, TakesDifferencesWhereTheyAreShorter) {
  // 1000, 1001, 1002: 2001 -> d1 0f, then 3 and 3.
  const Value value = column_value(PageColumn::of_numbers("n", "", 0, {1000, 1001, 1002}));
  EXPECT_EQ(to_json(value, -1),
            R"({"name":"n","unit":"","rows":3,"decimals":0,"delta":true,"data":"0Q8DAw=="})");
}

TEST(PageColumn, PacksTextsThroughADictionary) {
  const Value value = column_value(PageColumn::of_texts("status", {"failed", "done", "failed"}));
  EXPECT_EQ(
      to_json(value, -1),
      R"({"name":"status","unit":"","rows":3,"texts":["done","failed"],"delta":false,"data":"AwED"})");
}

TEST(PageColumn, PacksIntervalsBesideItsNumbers) {
  PageColumn column = PageColumn::of_numbers("cost", "$/h", 0, {2, nothing});
  column.low = {1, nothing};
  column.high = {3, nothing};
  // 2, 1 and 3 are 4, 2 and 6 zigzagged: bytes 05 00, 03 00, 07 00.
  EXPECT_EQ(to_json(column_value(column), -1),
            R"({"name":"cost","unit":"$/h","rows":2,"decimals":0,"delta":false,"data":"BQA=",)"
            R"("low":{"delta":false,"data":"AwA="},"high":{"delta":false,"data":"BwA="}})");
}

TEST(PageColumn, OfValuesIsOfNumbersWhereAllAreSome) {
  const PageColumn numbers = PageColumn::of_values("load", {"8", "16", "0.25"});
  EXPECT_FALSE(numbers.is_text);
  EXPECT_TRUE(numbers.is_key);
  EXPECT_EQ(numbers.decimals, 2);
  EXPECT_THAT(numbers.numbers, ElementsAre(8, 16, 0.25));
  EXPECT_TRUE(PageColumn::of_values("rate", {"8", "16 /s"}).is_text);
  EXPECT_TRUE(PageColumn::of_values("rate", {"8", ""}).is_text);
}

TEST(DistributionSeries, IsAStaircaseOfAllSamples) {
  const PageSeries series = distribution_series("x", {3, 1, 2, 2});
  EXPECT_THAT(series.x, ElementsAre(1, 1, 2, 2, 3));
  EXPECT_THAT(series.y, ElementsAre(0, 0.25, 0.5, 0.75, 1));
}

TEST(DistributionSeries, KeepsEndsAndTailOfVeryMany) {
  std::vector<double> samples;
  for (int i = 100'000; i > 0; --i) samples.push_back(i);
  const PageSeries series = distribution_series("x", samples, 300);
  EXPECT_LE(series.x.size(), 302U);
  EXPECT_EQ(series.x.front(), 1);
  EXPECT_EQ(series.x.back(), 100'000);
  EXPECT_EQ(series.y.back(), 1);
  int last_percent = 0;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (i > 0) {
      EXPECT_DOUBLE_EQ(series.y[i], series.x[i] / 100'000);
      EXPECT_GE(series.x[i], series.x[i - 1]);
    }
    last_percent += series.y[i] > 0.99 ? 1 : 0;
  }
  EXPECT_GE(last_percent, 50);
}

TEST(DistributionSeries, IsEmptyOfNoSamples) {
  EXPECT_TRUE(distribution_series("x", {}).x.empty());
}

class Page : public testing::Test {
 protected:
  void SetUp() override {
    if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  }
};

TEST_F(Page, HoldsEverythingAndFetchesNothing) {
  const std::string html = report_page(sample_report());
  EXPECT_THAT(html, HasSubstr("<title>Tiny 1B (bf16) on 2x Imaginary GPU · Foretoken simulation"));
  EXPECT_THAT(html, HasSubstr("Copyright (c) 2022 Leon Sorokin"));  // uPlot's licence goes with it
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, Not(testing::ContainsRegex("(src|href)=.?https?:")));
  for (const char* section : {"Latency", "Over time", "Where the time went", "Requests",
                              "Kernel-price error", "Scenario"}) {
    EXPECT_THAT(html, HasSubstr(std::string(R"("kind":"section","name":")") + section + '"'));
  }
}

TEST_F(Page, LetsNoTextEndItsScript) {
  Report report = sample_report();
  report.title = "</script><script>alert(1)</script> & \"more\"";
  report.rows.front().status = "</script>";
  const std::string html = report_page(report);
  EXPECT_THAT(html, Not(HasSubstr("</script><script>alert")));
  EXPECT_THAT(html, HasSubstr("<title>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; "
                              "&quot;more&quot;"));
  std::size_t ends = 0;
  for (std::size_t at = html.find("</script>"); at != std::string::npos;
       at = html.find("</script>", at + 1)) {
    ++ends;
  }
  EXPECT_EQ(ends, 3U);  // data, uPlot, page
}

TEST_F(Page, OfAHundredThousandRequestsStaysSmall) {
  Report report = sample_report();
  const RequestRow one = report.rows.front();
  report.rows.clear();
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    RequestRow row = one;
    // Numbers without any pattern: 2654435761 is 2^32 over the golden ratio.
    const double mixed = static_cast<double>(i * 2654435761U) / 4294967296.0;
    row.id = i;
    row.replica = i % 64;
    row.arrival_s = i * 0.05;
    row.scheduled_s = row.arrival_s + mixed * 20;
    row.ttft_ms = mixed * 30'000;
    row.tpot_ms = mixed * 200;
    row.e2e_ms = mixed * 300'000;
    row.prompt_tokens = static_cast<std::int64_t>(mixed * 120'000);
    row.output_tokens = static_cast<std::int64_t>(mixed * 8'000);
    row.handoff = RequestRow::Handoff{i % 64, mixed * 900, mixed * 900, mixed * 900};
    report.rows.push_back(row);
  }
  EXPECT_LT(report_page(report).size(), 5'000'000U);
}

TEST_F(Page, OfVeryManyRequestsShowsSomeAndSaysSo) {
  Report report = sample_report();
  const RequestRow one = report.rows.front();
  report.rows.assign(400'000, one);
  const std::string html = report_page(report);
  EXPECT_THAT(html, HasSubstr("1 in 3 of the 400,000 requests is shown; requests.csv (--out) has "
                              "all."));
  EXPECT_THAT(html, HasSubstr(R"("kind":"table","name":"request","rows":133334)"));
}

TEST_F(Page, DrawsGainsAsSharesOfTheLargest) {
  ReportPage page("Worth", "plan", "1.2.3");
  page.gains("More or less", {{"more memory", "+10 %", 0.1}, {"less", "-20 %", -0.2}});
  page.gains("Nothing", {});
  const std::string html = page.html();
  EXPECT_THAT(html, HasSubstr(R"({"kind":"gains","title":"More or less","gains":[)"
                              R"({"name":"more memory","value":"+10 %","share":0.5},)"
                              R"({"name":"less","value":"-20 %","share":-1.0}]})"));
  EXPECT_THAT(html, Not(HasSubstr(R"("title":"Nothing")")));
}

TEST_F(Page, HoldsGridsByPoint) {
  ReportPage page("Rates", "sweep", "1.2.3");
  PageGrid grid;
  grid.keys = {{"rate", "/s", {"4 /s", "8 /s"}, {4, 8}}};
  grid.places = {{0, 1}};
  grid.figures = {{"TTFT p99", "ms", 0, false, {2, nothing}, {}, {}}};
  page.grid(grid);
  EXPECT_THAT(
      page.html(),
      HasSubstr(R"({"kind":"grid","keys":[{"name":"rate","unit":"/s",)"
                R"("values":["4 /s","8 /s"],"numbers":[4.0,8.0],"places":{"name":"","unit":"",)"
                R"("rows":2,"decimals":0,"delta":false,"data":"AQM="}}],"crossed":true,)"
                R"("figures":[{"name":"TTFT p99","unit":"ms","more_is_better":false,)"
                R"("means":{"name":"TTFT p99","unit":"ms","rows":2,"decimals":0,)"
                R"("delta":false,"data":"BQA="}}]})"));
}

// "SLO missed: 92.5 % of requests" would say that so many missed it.
TEST_F(Page, SaysHowManyMetTheSloWhetherOrNotThatIsEnough) {
  Report report = sample_report();
  report.slo.attainment = 0.925;
  for (const bool is_met : {false, true}) {
    report.slo.met = is_met;
    const std::string html = report_page(report);
    EXPECT_THAT(html, HasSubstr(R"("label":"SLO met by","value":"92.5","unit":"% of requests")"));
    EXPECT_THAT(html, HasSubstr(is_met ? "enough · 99 % required" : "too few · 99 % required"));
  }
}

TEST_F(Page, PutsNoPriceOnNothing) {
  Report report = sample_report();
  report.requests.completed = 0;
  report.cost->per_million_output_tokens.reset();
  const std::string html = report_page(report);
  EXPECT_THAT(html, HasSubstr("1 failed: prompt + output exceed the context"));
  EXPECT_THAT(html, HasSubstr("no output tokens"));
  EXPECT_THAT(html, Not(HasSubstr("per M tokens")));
}

TEST_F(Page, OfNothingIsAPageStill) { EXPECT_THAT(report_page(Report()), HasSubstr("</html>")); }

}  // namespace
}  // namespace foretoken

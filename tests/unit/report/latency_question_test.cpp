#include "sim/report/latency_question.hpp"

#include <gmock/gmock.h>

#include "sim/base/error.hpp"
#include "sim/report/figures.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;

Report report_of(const std::vector<double>& ttft_ms) {
  Report report;
  for (const double value : ttft_ms) {
    RequestRow& row = report.rows.emplace_back();
    row.id = static_cast<std::uint32_t>(report.rows.size() - 1);
    row.arrival_s = row.id;
    row.ttft_ms = value;
    row.e2e_ms = 2 * value;
    row.tpot_ms = 0;
    row.output_tokens = 1;
    row.status = "completed";
  }
  return report;
}

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(LatencyQuestion, ReadsMetricAndPercentile) {
  const LatencyQuestion question = parse_latency_question("tpot:99.9");
  EXPECT_EQ(question.metric, LatencyMetric::tpot);
  EXPECT_DOUBLE_EQ(question.percentile, 99.9);
  EXPECT_EQ(question.text(), "tpot:99.9");
}

TEST(LatencyQuestion, SaysWhatIsWrong) {
  const auto asked = [](std::string_view text) {
    return message_of([&] { (void)parse_latency_question(text); });
  };
  EXPECT_THAT(asked("ttfd:99"), HasSubstr("did you mean 'ttft'"));
  EXPECT_THAT(asked("ttft"), HasSubstr("ttft needs a percentile, such as ttft:99"));
  EXPECT_THAT(asked("e2e:101"), HasSubstr("'101' is not a percentile"));
  EXPECT_THAT(asked("e2e:p99"), HasSubstr("'p99' is not a percentile"));
  EXPECT_THAT(asked("e2e:nan"), HasSubstr("'nan' is not a percentile"));
}

TEST(LatencyQuestion, APercentileLiesBetweenRequests) {
  // Sorted 10 20 30 40: the 90th percentile is at 2.7 of 0 to 3, which 40 is nearest to.
  const Report report = report_of({40, 10, 30, 20});
  const LatencyAnswer found = answer(report, parse_latency_question("ttft:90"));
  EXPECT_DOUBLE_EQ(found.value_ms, 37);
  EXPECT_EQ(found.id, 0U);
  LatencyQuestion later = parse_latency_question("ttft:100");
  later.warmup_s = 1;  // the first arrived before
  EXPECT_DOUBLE_EQ(answer(report, later).value_ms, 30);
}

TEST(LatencyQuestion, AnIntervalIsOfThePercentilesThatReportsHave) {
  Report report = report_of({40, 10});
  const auto interval = [&](std::string_view text) {
    return answer_interval(report, parse_latency_question(text));
  };
  EXPECT_FALSE(interval("ttft:99"));  // nobody asked for intervals
  report.ttft_ms.p99 = 39.7;
  report.tpot_ms.max = 5;
  std::vector<double> edge = figure_values(report);
  for (double& value : edge) value *= 1.2;
  report.intervals = {false, intervals_over(figure_values(report), {edge})};
  EXPECT_DOUBLE_EQ(interval("ttft:99")->low, 39.7);
  EXPECT_DOUBLE_EQ(interval("ttft:99")->high, 39.7 * 1.2);
  EXPECT_DOUBLE_EQ(interval("tpot:100")->high, 6);
  EXPECT_FALSE(interval("ttft:99.9"));
  LatencyQuestion of_one = parse_latency_question("ttft:99");
  of_one.request = 0;
  EXPECT_FALSE(answer_interval(report, of_one));
}

TEST(LatencyQuestion, ARequestHasToBeThereAndComplete) {
  Report report = report_of({40, 10});
  report.rows[1].status = "timed_out";
  LatencyQuestion question;
  const auto asked = [&](std::uint32_t id, LatencyMetric metric) {
    question.request = id;
    question.metric = metric;
    return message_of([&] { (void)answer(report, question); });
  };
  EXPECT_EQ(asked(0, LatencyMetric::ttft), "");
  EXPECT_THAT(asked(7, LatencyMetric::ttft), HasSubstr("ids are 0 to 1"));
  EXPECT_THAT(asked(1, LatencyMetric::ttft), HasSubstr("did not complete (timed_out)"));
  EXPECT_THAT(asked(0, LatencyMetric::tpot), HasSubstr("single output token"));
}

}  // namespace
}  // namespace foretoken

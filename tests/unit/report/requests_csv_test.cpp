// The exact bytes of requests.csv.
#include <gmock/gmock.h>

#include "tests/unit/report/sample_report.hpp"

namespace foretoken {
namespace {

TEST(RequestsCsv, HasFixedDecimalsAndEmptyCellsForWhatNeverHappened) {
  EXPECT_EQ(requests_csv(sample_report()),
            "id,replica,arrival_s,scheduled_s,first_token_s,finished_s,prompt_tokens,"
            "output_tokens,ttft_ms,tpot_ms,e2e_ms,preemptions,attempts,status,ended_s,priority,"
            "reason\n"
            "0,0,0.000000,0.000500,0.050000,2.000000,100,20,50.000,102.632,2000.000,1,1,completed,"
            "2.000000,0,\n"
            "1,1,1.250000,1.300000,,,200,0,,,,0,1,unfinished,8.000000,3,\n"
            "2,0,0.333333,,,,70000,0,,,,0,1,failed,0.333333,0,context_length\n");
}

TEST(RequestsCsv, OfNoRequestIsItsHeader) {
  const std::string text = requests_csv(Report{});
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(RequestsCsv, HasTwoMoreColumnsWithSpeculation) {
  Report report = sample_report();
  report.speculation.emplace();
  report.rows.front().drafted = 12;
  report.rows.front().accepted = 7;
  const std::string text = requests_csv(report);
  EXPECT_THAT(text, testing::HasSubstr(",status,ended_s,priority,reason,drafted,accepted\n"));
  EXPECT_THAT(text, testing::HasSubstr(",1,completed,2.000000,0,,12,7\n"));
  EXPECT_THAT(text, testing::HasSubstr(",0,1,unfinished,8.000000,3,,0,0\n"));
}

TEST(RequestsCsv, SaysWhichModelWasAskedAndByWhom) {
  Report report = sample_report();
  report.models = {{.name = "small"}, {.name = "large"}};
  report.tenants = {{.name = "web"}, {.name = "=batch"}};
  report.rows.front().model = "small";
  report.rows.front().tenant = "=batch";
  const std::string text = requests_csv(report);
  EXPECT_THAT(text, testing::HasSubstr(",priority,reason,model,tenant\n"));
  EXPECT_THAT(text, testing::HasSubstr(",completed,2.000000,0,,small,'=batch\n"));
}

}  // namespace
}  // namespace foretoken

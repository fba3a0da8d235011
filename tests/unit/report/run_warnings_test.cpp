// What is said of a run beside its figures.

#include "sim/report/run_warnings.hpp"

#include <gmock/gmock.h>

#include "sim/base/toml.hpp"

namespace foretoken::run_warnings_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Report with_engine(const std::string& engine) {
  Report report;
  report.scenario = parse_toml("[engine]\n" + engine, "r.toml");
  report.batch_max = 16;
  report.batch_mean = 12;
  for (const std::int64_t tokens : {1000, 8185, 8192}) {
    RequestRow& row = report.rows.emplace_back();
    row.prompt_tokens = tokens;
  }
  return report;
}

TEST(RunWarnings, PromptsThatFillTensorRtsStepsWaitForEverybody) {
  const std::string whole =
      "scheduler = \"tensorrt_llm\"\nbatch_tokens_max = 8192\nchunked_prefill = ";
  EXPECT_THAT(run_warnings(with_engine(whole + "false")),
              ElementsAre(HasSubstr("2 prompts are so long that a step of 8,192 tokens")));
  EXPECT_THAT(run_warnings(with_engine(whole + "true")), IsEmpty());
  EXPECT_THAT(run_warnings(with_engine("scheduler = \"vllm_v1\"\nbatch_tokens_max = 8192")),
              IsEmpty());
  Report alone = with_engine(whole + "false");
  alone.batch_max = 1;
  EXPECT_THAT(run_warnings(alone), IsEmpty()) << "nobody to wait for";
}

TEST(RunWarnings, BusyGpusUnderAnOpenLoadAreAtTheEdge) {
  Report report = with_engine("");
  report.gpu_busy = 0.998;
  report.steady.basis = SteadyBasis::arrivals;
  report.itl_ms.mean = 20;
  for (RequestRow& row : report.rows) row.scheduled_s = row.arrival_s + 0.02;
  EXPECT_THAT(run_warnings(report), IsEmpty()) << "somebody always decodes, and nobody waits";
  report.rows[0].scheduled_s = report.rows[0].arrival_s + 0.3;
  EXPECT_THAT(run_warnings(report), ElementsAre(HasSubstr("busy 99.8 % of the time")));
  report.steady.basis = SteadyBasis::service;  // users who wait for their answers
  EXPECT_THAT(run_warnings(report), IsEmpty());
  report.steady.basis = SteadyBasis::arrivals;
  report.gpu_busy = 0.95;
  EXPECT_THAT(run_warnings(report), IsEmpty());
}

}  // namespace
}  // namespace foretoken::run_warnings_test

// What a plan prints is what it judged: the command that it prints, pasted into a shell, is the run
// of its answer, with the same verdict and the same figures; and a plan of a day answers in time.
#include <fstream>

#include "sim/base/json.hpp"
#include "tests/sweep/process_test.hpp"

namespace foretoken {
namespace {

/// Of plan.json or report.json.
const Value& member(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  FORETOKEN_CHECK(found != nullptr, "no '{}' in a result", key);
  return *found;
}
double number(const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value.data);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value.data);
}

class PlanCommand : public ProcessTest {
 protected:
  /// Plans, and gives back plan.json's object; what was printed is in log().
  Value plan(std::vector<std::string> arguments, int status = 0) const {
    arguments.insert(arguments.begin(), {FORETOKEN_PROGRAM, "plan"});
    arguments.insert(arguments.end(), {"--out", path("plan")});
    EXPECT_EQ(run_program(arguments, log()), status) << text_of(log());
    return parse_json(text_of(path("plan") / "plan.json"), {"plan.json"});
  }

  /// The command in what was printed, as a person marks it: from its first word to the last line
  /// without a backslash.
  [[nodiscard]] std::string printed_command() const {
    const std::string text = text_of(log());
    std::size_t begin = text.find("foretoken simulate "), end = begin;
    EXPECT_NE(begin, std::string::npos) << text;
    do {
      end = text.find('\n', end + 1);
    } while (text[end - 1] == '\\');
    return text.substr(begin, end - begin);
  }

  /// The report of that command, run by a shell that finds the program under its name.
  [[nodiscard]] Value pasted() const {
    std::ofstream(path("pasted.sh")) << "foretoken() { " FORETOKEN_PROGRAM " \"$@\"; }\n"
                                     << printed_command() << " --json 2>/dev/null\n";
    EXPECT_EQ(run_program({"/bin/bash", path("pasted.sh")}, path("report.json")), 0)
        << text_of(path("report.json"));
    return parse_json(text_of(path("report.json")), {"report.json"});
  }

  /// The command gives the verdict and the figures of the cheapest.
  void expect_reproduced(const Value& plan) const {
    const auto& candidates = std::get<ValueArray>(member(plan, "candidates").data);
    const Value& best = candidates[static_cast<std::size_t>(number(member(plan, "cheapest")))];
    const Value report = pasted();
    const Value& slo = member(report, "slo");
    EXPECT_TRUE(std::get<bool>(member(slo, "met").data)) << printed_command();
    const auto& attainments = std::get<ValueArray>(member(best, "attainments").data);
    EXPECT_DOUBLE_EQ(number(member(slo, "attainment")), number(attainments.front()));
    const Value& metrics = member(best, "metrics");
    if (attainments.size() > 1) return;  // means over seeds
    EXPECT_DOUBLE_EQ(number(member(member(report, "ttft_ms"), "p99")),
                     number(member(member(metrics, "ttft_p99_ms"), "value")));
    EXPECT_DOUBLE_EQ(number(member(member(report, "e2e_ms"), "p50")),
                     number(member(member(metrics, "e2e_p50_ms"), "value")));
  }
};

constexpr const char* scenario = FORETOKEN_SOURCE_DIR "/examples/plan.toml";

TEST_F(PlanCommand, PastedItGivesTheVerdictOfSeveralSeeds) {
  expect_reproduced(plan({scenario, "--gpus", "h200-sxm,b200-sxm", "--tp", "2,4", "--pp", "1",
                          "--quick", "--set", "workload.requests=300"}));
}

TEST_F(PlanCommand, PastedItGivesTheFiguresOfOne) {
  expect_reproduced(plan({scenario, "--gpus", "h100-sxm", "--pp", "1", "--quick", "--set",
                          "workload.requests=300", "--set", "plan.replications=[1, 1]", "--set",
                          "slo.ttft=800 ms", "--margin", "0.2"}));
}

TEST_F(PlanCommand, PastedItGivesThatOfPools) {
  expect_reproduced(
      plan({FORETOKEN_SOURCE_DIR "/examples/plan_pools.toml", "--quick", "--set",
            "workload.requests=150", "--pools", "1:1", "--set", "plan.replications=[1, 2]"}));
}

TEST_F(PlanCommand, OfADayTheAnswerHoldsAllOfIt) {
  // 40,000 requests in two hours that swing like a day: searched by samples, checked as a whole.
  const Value day =
      plan({scenario, "--gpus", "h200-sxm", "--tp", "4", "--pp", "1", "--quick", "--set",
            "workload.requests=40000", "--set",
            "workload.diurnal={ period = \"2 h\", amplitude = 0.6, peak = \"1 h\" }"});
  const auto& candidates = std::get<ValueArray>(member(day, "candidates").data);
  EXPECT_TRUE(std::get<bool>(member(candidates.front(), "checked_whole").data));
  expect_reproduced(day);
}

TEST_F(PlanCommand, ATimeLimitCutsTheSearchAndSaysSo) {
  const Value cut = plan({scenario, "--time-limit", "50 ms", "--jobs", "1"}, 1);
  EXPECT_FALSE(std::get<bool>(member(cut, "complete").data));
  EXPECT_NE(text_of(log()).find("the time limit ended the search"), std::string::npos)
      << text_of(log());
  expect_told_once({FORETOKEN_PROGRAM, "plan", scenario, "--time-limit", "30"}, "--time-limit");
}

}  // namespace
}  // namespace foretoken

// The page of an explanation written by hand. tests/page opens real ones in a browser.
#include <gmock/gmock.h>

#include "sim/base/json.hpp"
#include "sim/report/latency_explanation.hpp"
#include "sim/report/latency_words.hpp"
#include "sim/report/page_files.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;
using testing::Not;

/// 100 ms to the first token, 60 of them its own work; 5 tokens after it in 40 ms.
LatencyExplanation explanation() {
  LatencyExplanation made;
  made.title = "Tiny 1B on an imaginary GPU";
  made.value_ms = 100;
  made.request.id = 7;
  made.request.prompt_tokens = 2000;
  made.request.output_tokens = 6;
  LatencyPhase& first = made.split.to_first_token;
  first.whole_s = 0.1;
  first.parts[LatencyCause::own_prefill] = 0.06;
  first.parts[LatencyCause::queueing] = 0.04;
  first.while_queueing[LatencyCause::idle] = 0.04;
  first.kernels = {{"gemm", "tensor", 0.05}, {"gemm", "dram", 0.01}, {"kv_write", "dram", 0.02}};
  made.split.after.whole_s = 0.04;
  made.split.after.parts[LatencyCause::own_decode] = 0.04;
  made.relaxed = {
      {"one more replica", {Change::parse("deployment.replicas=2")}, 80.0},
      {"half the launch latency", {Change::parse("a.b=2 us")}, 110.0},
      {"twice the KV memory", {Change::parse("engine.kv_blocks=9")}, std::nullopt, "does not fit"}};
  return made;
}

class ExplanationPage : public testing::Test {
 protected:
  void SetUp() override {
    if (embedded_uplot().empty()) GTEST_SKIP() << "built without uPlot: npm was missing";
  }
};

TEST_F(ExplanationPage, CutsTheTimeByCause) {
  const std::string html = explanation_page(explanation(), "[a]\n", "1.2.3");
  EXPECT_THAT(html, HasSubstr(R"("label":"p99 of TTFT","value":"100","unit":"ms")"));
  EXPECT_THAT(html, HasSubstr(R"("value":"60.0 %","unit":"","note":"own prefill, 60.0 ms")"));
  EXPECT_THAT(html, HasSubstr(R"({"name":"arrival to first token","value":"100 ms","parts":[)"
                              R"({"name":"own prefill","share":0.6},)"
                              R"({"name":"queueing","share":0.4}]})"));
  EXPECT_THAT(html, HasSubstr(R"({"name":"nothing that ran","value":"40.0 ms · 40.0 %")"));
  // 40 ms over 5 tokens.
  EXPECT_THAT(html, HasSubstr(R"({"name":"an output token after the first","value":"8.00 ms")"));
}

TEST_F(ExplanationPage, AddsUpKernelsByFamily) {
  const std::string html = explanation_page(explanation(), "[a]\n", "1.2.3");
  // 60 of 80 ms; 50 of them bound by tensor cores.
  EXPECT_THAT(html,
              HasSubstr(R"({"name":"gemm","value":"60.0 ms · 60.0 %","parts":[)"
                        R"({"name":"tensor","share":0.625},{"name":"dram","share":0.125}]})"));
  EXPECT_THAT(html, HasSubstr(R"("note":"bound by tensor, 50.0 ms")"));
  EXPECT_THAT(html, HasSubstr(R"({"name":"KV write","value":"20.0 ms · 20.0 %")"));
}

TEST_F(ExplanationPage, ShowsWhatWouldHelpAndHowToRunIt) {
  const std::string html = explanation_page(explanation(), "[a]\n", "1.2.3");
  EXPECT_THAT(html, HasSubstr(R"("label":"Would help most","value":"One more replica")"));
  EXPECT_THAT(html, HasSubstr(R"({"name":"one more replica","value":"80.0 ms · -20.0 %",)"
                              R"("share":1.0})"));
  EXPECT_THAT(html, HasSubstr(R"({"name":"half the launch latency","value":"110 ms · +10.0 %",)"
                              R"("share":-0.5})"));
  EXPECT_THAT(html, HasSubstr(R"("--set 'a.b=2 us'","--set deployment.replicas=2")"));
  EXPECT_THAT(html, HasSubstr("does not fit"));
  LatencyExplanation split_only = explanation();
  split_only.relaxed.clear();
  EXPECT_THAT(explanation_page(split_only, "[a]\n", "1.2.3"), Not(HasSubstr("Would help most")));
}

TEST_F(ExplanationPage, SaysWhatPricesMayMakeOfTheValue) {
  LatencyExplanation made = explanation();
  EXPECT_THAT(explanation_page(made, "[a]\n", "1.2.3"), Not(HasSubstr("kernel-price error")));
  EXPECT_EQ(explanation_value(made).find("interval_ms"), nullptr);
  made.interval = {90, 115};
  EXPECT_THAT(
      explanation_page(made, "[a]\n", "1.2.3"),
      HasSubstr(
          R"("note":"90 % interval (kernel-price error): 90.0–115 ms · arrival to first token")"));
  EXPECT_THAT(explanation_text(made, false),
              HasSubstr("\n  90 % interval (kernel-price error): 90.0–115 ms\n"));
  EXPECT_EQ(to_json(*explanation_value(made).find("interval_ms"), -1), "[90.0,115.0]");
}

TEST(ExplanationText, NamesTheLinksThatWereShared) {
  LatencyExplanation made = explanation();
  EXPECT_THAT(explanation_text(made, false), Not(HasSubstr("Contended")));
  made.contention_by = {{"node 0 gpu 3 in", 0.0125},
                        {"a", 0.006},
                        {"b", 0.005},
                        {"c", 0.004},
                        {"d", 0.003},
                        {"e", 0.002},
                        {"f", 0.001}};
  const std::string text = explanation_text(made, false);
  EXPECT_THAT(text, HasSubstr("Contended links"));
  EXPECT_THAT(text, testing::ContainsRegex("node 0 gpu 3 in +12.5 ms"));
  EXPECT_THAT(text, testing::ContainsRegex("others +3.00 ms"));
  EXPECT_EQ(to_json(*explanation_value(made).find("contention_by_ms")->find("a"), -1), "6.0");
}

TEST(LatencyWords, RecommendsOnlyWhatGains) {
  LatencyExplanation made = explanation();
  ASSERT_NE(most_helpful(made), nullptr);
  EXPECT_EQ(most_helpful(made)->what, "one more replica");
  made.relaxed.front().value_ms = 99.6;  // 0.4 %
  EXPECT_EQ(most_helpful(made), nullptr);
  EXPECT_EQ(change_text(made, 100.01), "none");
}

}  // namespace
}  // namespace foretoken

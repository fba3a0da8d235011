// The terminal table: its exact text for a small report, what it does with nothing and with too
// much, and that no report makes a line wider than the terminal.
#include <gmock/gmock.h>

#include <cmath>

#include "sim/base/random.hpp"
#include "sim/report/terminal_text.hpp"
#include "tests/unit/report/sample_report.hpp"

namespace foretoken {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ReportTable, IsThisTextAtEightyColumns) {
  EXPECT_EQ(report_table(sample_report(), false, 80), R"(  Tiny 1B (bf16) on 2x Imaginary GPU

  requests       2 of 4 completed · 8.0 s simulated
                 rates exclude 2.0 s of drain
  warning        1 request failed: prompt + output exceed the context
                 1 request unfinished at the end
                 1 malformed trace line skipped
  throughput     0.25 requests/s · 1,536 input tokens/s · 33.3 output tokens/s
  per GPU        0.125 requests/s · 768 input tokens/s · 16.7 output tokens/s

  latency            mean       p50       p90       p95       p99       max
  TTFT  ms           50.0      48.3      60.0      61.5      62.0   1,234.5
  TPOT  ms           7.00      6.50      7.25      7.50      8.00      9.00
  ITL   µs           50.0      40.0      60.0      70.0      80.0     100.0
  E2E   s            2.00      1.50      2.50      3.00      3.50      4.00

  SLO            ✗ met by 50 % of requests (target 99 %) · ttft ≤ 500 ms
                 tpot ≤ 50 ms
  goodput        0.25 requests/s
  cost           $6.50 an hour · $54.17 per million output tokens
  energy         12.3 J per output token

  KV cache       peak 50.0 % · mean 25.0 %
                 1,000 × 16 = 16,000 tokens per replica · 1 preemption
  GPU memory     weights 2 GiB · KV cache 8 GiB
  GPU busy       75.0 % of the time · 1,234 iterations · batch mean 1.5, max 3
  kernel prices  87.0 % by closed formulas · 13.0 % from measurements

  where the time went
  gemm           ███████████████████████████████████████████  75.0 %  6.00 s
  attention      ██████████▊                                  18.8 %  1.50 s
  all_reduce     ███▋                                          6.2 %  0.50 s

  over time      0 s                                   8.0 s
  running        ▄▄▄▄▄▄▄▄▄▄▄▆▆▆▆▆▆▆▆▆▆▆███████████▁▁▁▁▁▁▁▁▁▁  0 to 3
  waiting        ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁███████████▁▁▁▁▁▁▁▁▁▁  0 to 4
  KV in use      ▃▃▃▃▃▃▃▃▃▃▃▅▅▅▅▅▅▅▅▅▅▅███████████▁▁▁▁▁▁▁▁▁▁  0 to 50.0 %
)");
}

TEST(ReportTable, WrapsBetweenFactsAtSixtyColumns) {
  EXPECT_EQ(report_table(sample_report(), false, 60), R"(  Tiny 1B (bf16) on 2x Imaginary GPU

  requests       2 of 4 completed · 8.0 s simulated
                 rates exclude 2.0 s of drain
  warning        1 request failed: prompt + output exceed t…
                 1 request unfinished at the end
                 1 malformed trace line skipped
  throughput     0.25 requests/s · 1,536 input tokens/s
                 33.3 output tokens/s
  per GPU        0.125 requests/s · 768 input tokens/s
                 16.7 output tokens/s

  latency         mean    p50    p90    p95    p99      max
  TTFT  ms        50.0   48.3   60.0   61.5   62.0  1,234.5
  TPOT  ms        7.00   6.50   7.25   7.50   8.00     9.00
  ITL   µs        50.0   40.0   60.0   70.0   80.0    100.0
  E2E   s         2.00   1.50   2.50   3.00   3.50     4.00

  SLO            ✗ met by 50 % of requests (target 99 %)
                 ttft ≤ 500 ms · tpot ≤ 50 ms
  goodput        0.25 requests/s
  cost           $6.50 an hour
                 $54.17 per million output tokens
  energy         12.3 J per output token

  KV cache       peak 50.0 % · mean 25.0 %
                 1,000 × 16 = 16,000 tokens per replica
                 1 preemption
  GPU memory     weights 2 GiB · KV cache 8 GiB
  GPU busy       75.0 % of the time · 1,234 iterations
                 batch mean 1.5, max 3
  kernel prices  87.0 % by closed formulas
                 13.0 % from measurements

  where the time went
  gemm           ███████████████████████  75.0 %  6.00 s
  attention      █████▊                   18.8 %  1.50 s
  all_reduce     █▉                        6.2 %  0.50 s

  over time      0 s               8.0 s
  running        ▄▄▄▄▄▄▆▆▆▆▆▆██████▁▁▁▁▁  0 to 3
  waiting        ▁▁▁▁▁▁▁▁▁▁▁▁██████▁▁▁▁▁  0 to 4
  KV in use      ▃▃▃▃▃▃▅▅▅▅▅▅██████▁▁▁▁▁  0 to 50.0 %
)");
}

TEST(ReportTable, OfARunWithoutRequestsSaysSo) {
  EXPECT_THAT(report_table(Report{.warmup_s = 9}, false),
              HasSubstr("no request is counted: none arrived after the warm-up; lower run.warmup"));
  EXPECT_EQ(report_table(Report{}, false), R"(  requests       0 of 0 completed · 0 s simulated
  warning        no request arrived: the duration or part of the traffic holds none; widen it
  throughput     0 requests/s · 0 input tokens/s · 0 output tokens/s

  latency            mean       p50       p90       p95       p99       max
  TTFT                  –         –         –         –         –         –
  TPOT                  –         –         –         –         –         –
  ITL                   –         –         –         –         –         –
  E2E                   –         –         –         –         –         –

  GPU busy       0.0 % of the time · 0 iterations · batch mean 0.0, max 0
)");
}

TEST(ReportTable, DropsTheLessAskedForPercentilesWhereLatenciesAreTooWide) {
  Report report = sample_report();
  report.e2e_ms = {1e8, 1e8, 2e8, 3e8, 4e8, 5e8};  // "100,000" to "500,000" s
  const std::string text = report_table(report, false, 60);
  EXPECT_THAT(text, HasSubstr("latency           mean      p50      p90      p99      max\n"));
  EXPECT_THAT(text, HasSubstr("E2E   s        100,000  100,000  200,000  400,000  500,000\n"));
}

TEST(ReportTable, ShowsWarningsOnlyWhenThereAreAny) {
  Report report = sample_report();
  EXPECT_THAT(report_table(report, false), HasSubstr("warning"));
  report.requests = {.arrived = 2, .completed = 2};
  EXPECT_THAT(report_table(report, false), Not(HasSubstr("warning")));
}

TEST(ReportTable, MarksAnObjectiveThatWasMetAndOneThatWasMissed) {
  Report report = sample_report();
  EXPECT_THAT(report_table(report, false), HasSubstr("✗ met by 50 % of requests (target 99 %)"));
  report.slo.attainment = 0.9975;
  report.slo.met = true;
  EXPECT_THAT(report_table(report, false), HasSubstr("✓ met by 99.75 % of requests"));
}

TEST(ReportTable, RoundsAttainmentDownSoThatAMissNeverReadsAsMet) {
  Report report = sample_report();
  report.slo.attainment = 0.989999;
  EXPECT_THAT(report_table(report, false), HasSubstr("met by 98.99 % of requests (target 99 %)"));
  report.slo.attainment = 0.29;  // 0.29 * 10^4 is 2899.9999… in binary
  EXPECT_THAT(report_table(report, false), HasSubstr("met by 29 % of requests"));
}

TEST(ReportTable, GathersSmallFamiliesIntoOthers) {
  Report report;
  for (int i = 0; i < 12; ++i) report.time_by.push_back({"family" + std::to_string(i), 12.0 - i});
  const std::string text = report_table(report, false);
  EXPECT_THAT(text, HasSubstr("family7"));
  EXPECT_THAT(text, Not(HasSubstr("family8")));
  // 4 + 3 + 2 + 1 = 10 of 12 + 11 + … + 1 = 78.
  EXPECT_THAT(text, HasSubstr("4 others"));
  EXPECT_THAT(text, HasSubstr("12.8 %  10.00 s"));
}

TEST(ReportTable, NamesANinthFamilyInsteadOfGatheringOne) {
  Report report;
  for (int i = 0; i < 9; ++i) report.time_by.push_back({"family" + std::to_string(i), 1});
  EXPECT_THAT(report_table(report, false), HasSubstr("family8"));
}

TEST(ReportTable, SaysAReplicaOnlyWhereThereAreSeveral) {
  Report report = sample_report();
  EXPECT_THAT(report_table(report, false), HasSubstr("16,000 tokens per replica"));
  report.rows.clear();
  EXPECT_THAT(report_table(report, false), Not(HasSubstr("per replica")));
}

TEST(ReportTable, IsTheSameTextWithColourAsWithout) {
  const std::string plain = report_table(sample_report(), false);
  std::string coloured = report_table(sample_report(), true);
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(coloured, HasSubstr("\x1b[31m✗\x1b[0m"));
  for (std::size_t at = 0; (at = coloured.find("\x1b[")) != std::string::npos;) {
    coloured.erase(at, coloured.find('m', at) - at + 1);
  }
  EXPECT_EQ(coloured, plain);
}

/// Zero, tiny, ordinary or huge.
double any_size(RandomStream& random) {
  if (uniform(random) < 0.2) return 0;
  return std::pow(10.0, -9 + 24 * uniform(random));
}
std::int64_t any_count(RandomStream& random) {
  return static_cast<std::int64_t>(std::pow(10.0, 17 * uniform(random))) - 1;
}
LatencyRow any_latency(RandomStream& random) {
  return {any_size(random), any_size(random), any_size(random),
          any_size(random), any_size(random), any_size(random)};
}

Report any_report(std::uint64_t seed) {
  RandomStream random = RandomStreams(seed).stream("report");
  Report report;
  report.title = std::string(static_cast<std::size_t>(200 * uniform(random)), 'T');
  report.requests = {any_count(random), any_count(random), any_count(random), any_count(random),
                     any_count(random)};
  report.duration_s = any_size(random);
  report.throughput = {any_size(random), any_size(random), any_size(random)};
  report.gpus = 1 + static_cast<int>(2 * uniform(random));
  report.ttft_ms = any_latency(random);
  report.tpot_ms = any_latency(random);
  report.itl_ms = any_latency(random);
  report.e2e_ms = any_latency(random);
  report.slo.targets = {"ttft <= 500 ms", std::string(100, 'x')};
  report.slo.goodput_per_s = any_size(random);
  report.kv = {any_count(random), 16, uniform(random), uniform(random), any_count(random)};
  report.gpu_busy = uniform(random);
  report.batch_mean = any_size(random);
  report.batch_max = any_count(random);
  report.iterations = any_count(random);
  for (int i = 0; i < 14; ++i) {
    const auto length = static_cast<std::size_t>(1 + 30 * uniform(random));
    report.time_by.push_back({std::string(length, 'k'), any_size(random)});
    report.origins.push_back({std::string(length, 'o'), any_count(random)});
    report.memory_bytes.push_back({std::string(length, 'm'), any_count(random)});
    report.timeline.push_back(
        {any_size(random), any_size(random), any_size(random), uniform(random), any_size(random)});
  }
  report.cost = Report::Cost{any_size(random), any_size(random)};
  report.energy_j_per_token = any_size(random);
  report.energy = EnergyFigures{.per_request_j = any_size(random)};
  return report;
}

TEST(ReportTableProperty, NoLineIsWiderThanTheTerminal) {
  for (std::uint64_t seed = 1; seed <= 202; ++seed) {
    const int width = 60 + static_cast<int>(seed) % 101;  // every width of 60 to 160 twice
    const std::string text = report_table(any_report(seed), seed % 3 == 0, width);
    for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      const std::string line = text.substr(begin, text.find('\n', begin) - begin);
      ASSERT_LE(display_width(line), width) << "seed " << seed << "\n" << line;
      ASSERT_FALSE(line.ends_with(' ')) << "seed " << seed << "\n" << line;
    }
  }
}

TEST(ReportTable, TellsWhatMetOnTheLinks) {
  Report report = sample_report();
  EXPECT_THAT(report_table(report, false, 100), Not(HasSubstr("network")));
  report.network = Report::Network{.flows = 1200, .priced = 50, .alone = 2900, .met = 100};
  EXPECT_THAT(report_table(report, false, 120),
              HasSubstr("1,200 flows simulated · 100 of 3,000 step collectives met other traffic"));
  EXPECT_THAT(report_table(report, false, 120), HasSubstr("no contention"));
  report.network->contention_s = 0.0125;
  report.network->contention_by = {{"node 0 gpu 3 in", 0.0125}};
  EXPECT_THAT(report_table(report, false, 120),
              HasSubstr("contention cost 12.5 ms, most of it on node 0 gpu 3 in"));
}

TEST(ReportTable, TellsWhatBecameOfDrafts) {
  Report report = sample_report();
  EXPECT_THAT(report_table(report, false, 100), Not(HasSubstr("speculation")));
  report.speculation = Report::Speculation{"draft_model", 2, 1000, 2.4, {0.8, 0.6}, 0.25};
  EXPECT_THAT(report_table(report, false, 120),
              HasSubstr("2 drafts by draft model · 2.40 tokens per verification · accepted 80.0 %, "
                        "60.0 %"));
  EXPECT_THAT(report_table(report, false, 120), HasSubstr("drafting 25.0 % of GPU time"));
  report.speculation->draft_share = 0;  // n-grams
  EXPECT_THAT(report_table(report, false, 120), Not(HasSubstr("drafting")));
}

}  // namespace
}  // namespace foretoken

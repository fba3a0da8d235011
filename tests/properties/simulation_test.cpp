// Laws of whole runs: queues behave as queueing theory says, a lone request takes the sum of its
// steps, nothing is lost, and time only moves forward.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/estimators/in_step_predictor.hpp"
#include "sim/prices/step_price.hpp"
#include "tests/properties/run_text.hpp"

namespace foretoken {
namespace {

constexpr const char* one_request = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[workload]
arrivals = "all_at_once"
requests = 1
prompt_tokens = 700
output_tokens = 20
[engine]
batch_tokens_max = 256
[predictor]
name = "roofline"
)";

TEST(SimulationProperties, ALoneRequestTakesTheSumOfItsSteps) {
  const Scenario scenario = scenario_from(one_request);
  const Report report = run_scenario(scenario, Catalogs());

  const auto predictor = make_predictor(Catalogs().predictors, "roofline", {});
  const auto step = [&](std::int64_t tokens, std::int64_t context, bool samples) {
    BatchShape batch;
    batch.tokens = tokens;
    batch.logit_rows = samples ? 1 : 0;
    batch.attention = AttentionLoad::exact({{tokens, context}});
    return price_step(scenario.model, {}, scenario.execution, scenario.cluster,
                      {scenario.cluster.comm}, *predictor, batch)
        .compute()
        .value();
  };
  // 700 prompt tokens in chunks of 256, 256 and 188; then 19 decodes at contexts 701 to 719.
  const double prefill = step(256, 256, false) + step(256, 512, false) + step(188, 700, true);
  double decode = 0;
  for (std::int64_t context = 701; context <= 719; ++context) decode += step(1, context, true);
  EXPECT_NEAR(report.ttft_ms.mean, prefill * 1e3, 1e-9 * prefill * 1e3);
  EXPECT_NEAR(report.e2e_ms.mean, (prefill + decode) * 1e3, 1e-9 * (prefill + decode) * 1e3);
  EXPECT_NEAR(report.tpot_ms.mean, decode / 19 * 1e3, 1e-9 * decode * 1e3);
  EXPECT_EQ(report.iterations, 22);
}

TEST(SimulationProperties, AQueueOfEqualJobsWaitsAsTheMD1FormulaSays) {
  // One sequence at a time, one output token: every request is one step of the same length D. With
  // Poisson arrivals at rate r that is an M/D/1 queue: mean wait = rho D / (2 (1 - rho)), rho = r
  // D.
  Scenario scenario = scenario_from(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[engine]
sequences_max = 1
[workload]
arrivals = "poisson"
rate = "25 /s"
requests = 100000
prompt_tokens = 1000
output_tokens = 1
)");
  const Report report = run_scenario(scenario, Catalogs());
  double service = 0, wait = 0;
  for (const RequestRow& row : report.rows) {
    service += *row.finished_s - *row.scheduled_s;
    wait += *row.scheduled_s - row.arrival_s;
  }
  const auto count = static_cast<double>(report.rows.size());
  service /= count;
  wait /= count;
  const double load = 25.0 * service;
  ASSERT_GT(load, 0.3) << "too little load to test anything";
  ASSERT_LT(load, 0.9) << "too close to saturation for a finite run";
  const double expected = load * service / (2.0 * (1.0 - load));
  EXPECT_NEAR(wait, expected, 0.03 * expected);
}

TEST(SimulationProperties, NothingIsLostWhenPipelinesPreempt) {
  StepRecorder recorder;
  RunOptions options;
  options.observer = &recorder;
  const Report report = run_scenario(scenario_from(busy_pipelines), Catalogs(), options);
  EXPECT_EQ(report.requests.arrived, 400);
  EXPECT_EQ(report.requests.completed, 400);
  EXPECT_GT(report.kv.preemptions, 0) << "the cache was meant to be too small";
  EXPECT_LE(report.kv.peak, 1.0);
  std::int64_t drawn = 0, output_tokens = 0;
  for (const StepRecorder::Step& step : recorder.steps) {
    if (step.stage == 1) drawn += step.shape.logit_rows;
  }
  for (const RequestRow& row : report.rows) {
    output_tokens += row.output_tokens;
    ASSERT_LE(row.arrival_s, *row.scheduled_s);
    ASSERT_LT(*row.scheduled_s, *row.first_token_s);
    ASSERT_LE(*row.first_token_s, *row.finished_s);
  }
  EXPECT_EQ(drawn, output_tokens);
}

TEST(SimulationProperties, AStageWorksOnOneStepAtATime) {
  StepRecorder recorder;
  RunOptions options;
  options.observer = &recorder;
  (void)run_scenario(scenario_from(busy_pipelines), Catalogs(), options);
  double free_at[2][2] = {};  // by replica, by stage
  bool is_overlapped = false;
  for (const StepRecorder::Step& step : recorder.steps) {
    double& free = free_at[step.replica.value][step.stage];
    ASSERT_GE(step.start.value(), free - 1e-12);
    free = (step.start + step.duration).value();
    const double other = free_at[step.replica.value][1 - step.stage];
    is_overlapped = is_overlapped || step.start.value() < other;
  }
  EXPECT_TRUE(is_overlapped) << "two stages never worked at the same time";
}

TEST(SimulationProperties, MoreMemoryNeverMeansMorePreemptionsThanNone) {
  const Report report =
      run_scenario(scenario_from(busy_pipelines, {"engine.kv_blocks=0"}), Catalogs());
  EXPECT_EQ(report.kv.preemptions, 0);
  EXPECT_EQ(report.requests.completed, 400);
}

TEST(SimulationProperties, AHorizonLeavesTheRestUnfinishedAndAccountedFor) {
  const Report report =
      run_scenario(scenario_from(busy_pipelines, {"run.horizon=2 s"}), Catalogs());
  EXPECT_GT(report.requests.unfinished, 0);
  EXPECT_EQ(report.requests.arrived,
            report.requests.completed + report.requests.failed + report.requests.unfinished);
}

TEST(SimulationProperties, SumsOfAttentionPriceStepsAsPlansDoUnderRoofline) {
  // The roofline is linear in a batch's sums, so pricing a recorded batch from its sums must give
  // the duration that listing its sequences gave.
  const Scenario scenario = scenario_from(
      one_request, {"workload.requests=40", "predictor.detail=plan", "run.seed=3",
                    "workload.prompt_tokens={distribution='uniform',min=20,max=900}"});
  StepRecorder recorder;
  RunOptions options;
  options.observer = &recorder;
  (void)run_scenario(scenario, Catalogs(), options);
  const auto predictor = make_predictor(Catalogs().predictors, "roofline", {});
  std::size_t mixed = 0;
  for (StepRecorder::Step& step : recorder.steps) {
    ASSERT_FALSE(step.shape.attention.sequences.empty());
    const auto& load = step.shape.attention;
    mixed += load.prefill.sequences > 0 && load.decode.sequences > 0 ? 1 : 0;
    step.shape.attention.sequences.clear();
    const Seconds aggregate = price_step(scenario.model, {}, scenario.execution, scenario.cluster,
                                         {scenario.cluster.comm}, *predictor, step.shape)
                                  .compute();
    ASSERT_NEAR(aggregate / step.duration, 1.0, 1e-9);
  }
  EXPECT_GT(mixed, 10U) << "too few steps mix prefill and decode";
}

TEST(SimulationProperties, SumsOfAttentionStayNearPlansUnderSynPerf) {
  // Learned prices see a batch's spread only through its sums. On the steps of a real mixture the
  // whole step must agree within 2 % on average, and no step may be off by more than 10 %.
  const Scenario scenario = scenario_from(
      one_request, {"workload.requests=60", "predictor.name=synperf", "predictor.detail=plan",
                    "engine.batch_tokens_max=2048", "engine.sequences_max=64",
                    "workload.prompt_tokens={distribution='lognormal',mean=700,p99=4000}",
                    "workload.output_tokens={distribution='lognormal',mean=60,p99=300}"});
  StepRecorder recorder;
  RunOptions options;
  options.observer = &recorder;
  (void)run_scenario(scenario, Catalogs(), options);
  const auto predictor = in_step(make_predictor(Catalogs().predictors, "synperf", {}));
  double error_sum = 0;
  for (StepRecorder::Step& step : recorder.steps) {
    step.shape.attention.sequences.clear();
    const Seconds aggregate = price_step(scenario.model, {}, scenario.execution, scenario.cluster,
                                         {scenario.cluster.comm}, *predictor, step.shape)
                                  .compute();
    const double error = std::abs(aggregate / step.duration - 1.0);
    ASSERT_LE(error, 0.10);
    error_sum += error;
  }
  const double mean_error = error_sum / static_cast<double>(recorder.steps.size());
  RecordProperty("mean_error_percent", fmt::format("{:.3f}", 100 * mean_error));
  EXPECT_LE(mean_error, 0.02);
}

}  // namespace
}  // namespace foretoken

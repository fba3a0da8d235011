// From which batch on speculation stops paying, against pricing every batch by itself.

#include "sim/run/speculation_payoff.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/base/toml.hpp"
#include "sim/prices/scenario_prices.hpp"
#include "sim/prices/step_price.hpp"
#include "sim/run/catalogs.hpp"

namespace foretoken::speculation_payoff_test {
namespace {

Scenario scenario_of(const std::string& speculative, int sequences_max = 96) {
  const std::string text = fmt::format(R"(
[model]
name = "llama-3.1-70b"
[cluster]
name = "h200-sxm-4"
[deployment]
tensor_parallel = 4
[engine]
sequences_max = {}
[engine.speculative]
{}
[workload]
arrivals = "poisson"
rate = "1 /s"
requests = 1
prompt_tokens = 100
output_tokens = 10
[predictor]
name = "roofline"
)",
                                       sequences_max, speculative);
  return read_scenario(parse_toml(text, "payoff.toml"), {"."});
}

DraftPayoff payoff_of(const Scenario& scenario, std::int64_t context = 1500) {
  return speculation_payoff(scenario, Catalogs().predictors, context);
}

/// A decode step of so many sequences, each with so many drafts.
Seconds step_time(const Scenario& scenario, std::int64_t sequences, int drafts,
                  std::int64_t context) {
  BatchShape batch;
  batch.attention =
      AttentionLoad::exact(std::vector<SequenceSlice>(static_cast<std::size_t>(sequences),
                                                      {1 + drafts, context + drafts}),
                           1 + drafts);
  batch.tokens = batch.logit_rows = batch.stage_tokens = batch.stage_tokens_max =
      sequences * (1 + drafts);
  batch.draft_rows = sequences * drafts;
  batch.verifying = drafts > 0 ? sequences : 0;
  const auto predictor = step_predictor(scenario, Catalogs().predictors);
  const CommSettings comm = communication_of(scenario);
  StepCost cost = price_step(scenario.model, scenario.deployment.layout, scenario.execution,
                             scenario.cluster, comm, *predictor, batch);
  if (drafts > 0)
    cost.drafts = price_drafts(*scenario.engine.speculative, scenario.deployment.layout,
                               scenario.execution, scenario.cluster, comm, *predictor, batch);
  return cost.compute() + cost.communication();
}

TEST(SpeculationPayoff, IsWhereEveryBatchPricedByItselfSaysSo) {
  const std::int64_t context = 1500;
  int crossings = 0;
  for (const double acceptance : {0.05, 0.2, 0.3, 0.4, 0.6}) {
    const Scenario scenario =
        scenario_of(fmt::format("method = \"eagle\"\ndrafts = 3\nacceptance = {}", acceptance));
    const DraftPayoff payoff = payoff_of(scenario, context);
    // 1 + a + a^2 + a^3, by hand.
    const double tokens = 1 + acceptance * (1 + acceptance * (1 + acceptance));
    EXPECT_NEAR(payoff.tokens_per_step, tokens, 1e-12);
    std::optional<std::int64_t> first;
    const double gap = scenario.engine.host.gap.value();
    for (std::int64_t sequences = 1; sequences <= 96 && !first; ++sequences) {
      const double plain = step_time(scenario, sequences, 0, context).value() + gap;
      const double drafted = (step_time(scenario, sequences, 3, context).value() + gap) / tokens;
      if (drafted >= plain) first = sequences;
    }
    EXPECT_EQ(payoff.pays_below, first) << "acceptance " << acceptance;
    crossings += first && *first > 1;
    ASSERT_EQ(payoff.steps.size(), 8U) << "1, 2, 4 ... 64, and the limit";
    EXPECT_EQ(payoff.steps.back().sequences, 96);
    EXPECT_NEAR(payoff.steps[3].plain_ms, (step_time(scenario, 8, 0, context).value() + gap) * 1e3,
                1e-9);
  }
  EXPECT_GT(crossings, 0) << "no acceptance has its batch between 1 and the limit";
}

TEST(SpeculationPayoff, FallsWithTheAcceptance) {
  std::int64_t last = 1'000'000;
  for (const double acceptance : {0.9, 0.5, 0.3, 0.1, 0.01}) {
    const Scenario scenario = scenario_of(
        fmt::format("method = \"eagle\"\ndrafts = 3\nacceptance = {}", acceptance), 1024);
    const std::int64_t now = payoff_of(scenario).pays_below.value_or(100'000);
    EXPECT_LE(now, last) << acceptance;
    last = now;
  }
  EXPECT_EQ(last, 1) << "drafts that are never accepted cost and give nothing";
}

TEST(SpeculationPayoff, LooksUpWhatIsDraftedAtEachBatch) {
  const std::string ngram = "method = \"ngram\"\ndrafts = 4\nacceptance = 0.01\n";
  const DraftPayoff always = payoff_of(scenario_of(ngram + "host_time = \"1 ms\""));
  EXPECT_EQ(always.pays_below, 1);
  const DraftPayoff never =
      payoff_of(scenario_of(ngram + "host_time = \"1 ms\"\ndrafts_by_batch = [[1, 0]]"));
  EXPECT_FALSE(never.pays_below) << "the engine does without, so nothing is lost";
  for (const DraftPayoff::Step& step : never.steps) EXPECT_EQ(step.plain_ms, step.speculative_ms);
}

TEST(SpeculationPayoff, CountsTheCpuTimeThatTheGpuWaitsFor) {
  Scenario scenario = scenario_of("method = \"eagle\"\ndrafts = 3\nacceptance = 0.6");
  const DraftPayoff before = payoff_of(scenario);
  HostSettings& host = scenario.engine.host;
  host.async_scheduling = false;
  host.step = Seconds(2e-3);
  host.sequence = Seconds(1e-5);
  const DraftPayoff after = payoff_of(scenario);
  for (std::size_t i = 0; i < before.steps.size(); ++i) {
    const double cpu_ms = 2.0 + 0.01 * static_cast<double>(before.steps[i].sequences);
    EXPECT_NEAR(after.steps[i].plain_ms, before.steps[i].plain_ms + cpu_ms, 1e-9);
    EXPECT_NEAR(after.steps[i].speculative_ms,
                before.steps[i].speculative_ms + cpu_ms / before.tokens_per_step, 1e-9);
  }
  host.async_scheduling = true;  // as long as the step itself takes longer
  EXPECT_NEAR(payoff_of(scenario).steps[0].plain_ms, before.steps[0].plain_ms, 1e-9);
}

TEST(SpeculationPayoff, SaysItInASentence) {
  DraftPayoff payoff{.context_tokens = 1260, .steps = {{1, 8, 4}, {256, 20, 15}}};
  EXPECT_EQ(payoff.sentence(),
            "Speculation pays in steps of up to 256 sequences, the engine's limit (contexts of "
            "1,260 tokens).");
  payoff.pays_below = 77;
  EXPECT_EQ(payoff.sentence(),
            "Speculation pays in steps of fewer than 77 sequences, and again in larger ones "
            "(contexts of 1,260 tokens).");
  payoff.steps[1].speculative_ms = 21;
  EXPECT_EQ(payoff.sentence(),
            "Speculation pays in steps of fewer than 77 sequences (contexts of 1,260 tokens).");
  payoff.pays_below = 1;
  EXPECT_EQ(payoff.sentence(),
            "Speculation never pays, not even for one sequence (contexts of 1,260 tokens).");
  payoff.steps[1].speculative_ms = 15;
  EXPECT_EQ(payoff.sentence(), "Speculation pays in larger steps only (contexts of 1,260 tokens).");
}

}  // namespace
}  // namespace foretoken::speculation_payoff_test

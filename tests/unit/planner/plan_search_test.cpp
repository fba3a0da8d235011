// The search over candidates with a runner that knows the answers: the same answer as trying
// everything, fewer runs, and reasons for what was not run.

#include "sim/planner/plan/plan_search.hpp"

#include <gmock/gmock.h>

#include "sim/base/random.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "tests/unit/planner/made_up_plan.hpp"

namespace foretoken::plan_search_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr double load = 10;  // requests a second

struct Problem {
  std::vector<PlanCandidate> candidates;
  std::vector<MadeUp> truth;
  Replications replications = {1, 1};
  double asked = 1;  // times the load
  std::optional<double> looks = std::nullopt;

  /// GPUs and dollars of a unit, what a unit holds, and how long requests take. Bounds are half of
  /// what is true, as datasheets are.
  void add(std::vector<std::string> values, int gpus, double dollars, const MadeUp& real) {
    PlanCandidate candidate;
    candidate.values = std::move(values);
    candidate.hardware = candidate.values.front();
    candidate.unit_gpus = gpus;
    candidate.unit_dollars_per_hour = dollars;
    candidate.units_max = 64;
    candidate.bounds = {
        .units = load / real.unit_rate / 2, .attainment = 1, .latency_ms = real.latency_ms / 2};
    candidates.push_back(candidate);
    truth.push_back(real);
  }

  struct Answer {
    PlanResult result;
    std::size_t runs = 0;
  };
  [[nodiscard]] Answer solve(bool exhaustive, bool front = true, int stop_after = 0,
                             std::size_t width = 4) const {
    MadeUpPlanRunner runner(truth, load);
    runner.stop_after = stop_after;
    PlanRuns runs(runner, MadeUpPlanRunner::requests, {});
    PlanSearchSettings settings;
    settings.fleet = {.target = 0.99, .unit = {1, 1}, .fleet = replications, .load = asked};
    settings.output_tokens_per_s = 1000;
    settings.latency_metric = figure_index("e2e_p50_ms");
    settings.wants_front = front;
    settings.is_exhaustive = exhaustive;
    settings.looks_allow = looks;
    settings.width = width;
    Answer answer{search_plan(candidates, settings, runs), 0};
    answer.runs = runs.made();
    return answer;
  }
};

Problem small_problem() {
  Problem problem;
  problem.add({"small", "1"}, 1, 1.0, {.unit_rate = 1.0, .latency_ms = 2000});  // 10 units, $10
  problem.add({"small", "2"}, 2, 2.0, {.unit_rate = 2.5, .latency_ms = 1000});  // 4 units, $8
  problem.add({"large", "1"}, 1, 4.0, {.unit_rate = 3.0, .latency_ms = 600});   // 4 units, $16
  problem.add({"large", "2"}, 2, 8.0, {.unit_rate = 5.0, .latency_ms = 300});   // 2 units, $16
  problem.add({"huge", "1"}, 8, 50.0, {.unit_rate = 5.0, .latency_ms = 1500});  // $100, beaten
  return problem;
}

TEST(PlanSearch, FindsTheFleetTheCheapestAndTheFront) {
  const auto [result, runs] = small_problem().solve(false);
  ASSERT_TRUE(result.cheapest.has_value());
  EXPECT_EQ(*result.cheapest, 1U);
  EXPECT_EQ(result.candidates[1].units, 4);
  EXPECT_DOUBLE_EQ(result.candidates[1].objectives.dollars_per_hour, 8.0);
  // large 2: the quickest. large 1 costs as much, is slower, and needs as many GPUs.
  EXPECT_THAT(result.front, ElementsAre(1U, 3U));
  EXPECT_DOUBLE_EQ(result.candidates[3].objectives.tokens_per_s_gpu, 1000.0 / 4);
}

TEST(PlanSearch, ASweepSaysTheSameWithMoreRuns) {
  const auto quick = small_problem().solve(false);
  const auto all = small_problem().solve(true);
  EXPECT_EQ(quick.result.cheapest, all.result.cheapest);
  EXPECT_EQ(quick.result.front, all.result.front);
  // 10 + 4 + 4 + 2 + 2, one run each.
  EXPECT_EQ(all.runs, 22U);
  EXPECT_LT(quick.runs, all.runs);
}

TEST(PlanSearch, WhatIsBeatenWhateverItNeedsIsNotRun) {
  Problem problem = small_problem();
  problem.candidates[4].bounds.latency_ms = 1200;  // no better than `small 2`, at $50 a unit
  const auto [result, runs] = problem.solve(false, true, 0, 1);
  EXPECT_EQ(result.candidates[4].fate, CandidateFate::beaten);
  EXPECT_EQ(result.candidates[4].probes, 0U);
  EXPECT_THAT(result.beaten_by, Contains(Pair(4U, ::testing::_)));
}

TEST(PlanSearch, OneRunOfAFleetThatIsBeatenIsEnough) {
  // By its bounds (1,000 ms) `slow` could be as quick as `quick`; its first run that holds says
  // 2,000.
  Problem problem;
  problem.add({"quick", "1"}, 1, 1.0, {.unit_rate = 10.0, .latency_ms = 1500});  // 1 unit
  problem.add({"slow", "1"}, 1, 2.0, {.unit_rate = 10.0, .latency_ms = 2000});   // 1 unit
  problem.replications = {3, 3};
  const auto [result, runs] = problem.solve(false, true, 0, 1);
  EXPECT_EQ(result.candidates[0].fate, CandidateFate::holds);
  EXPECT_EQ(result.candidates[1].fate, CandidateFate::beaten);
  EXPECT_EQ(result.candidates[1].probes, 1U);
  EXPECT_EQ(runs, 4U);
}

TEST(PlanSearch, ALookAtSomeRequestsIsEnoughForOneThatLatencyAloneCouldSave) {
  Problem problem;
  problem.looks = 10;
  problem.add({"quick", "1"}, 1, 1.0, {.unit_rate = 10.0, .latency_ms = 1500});    // 1 unit
  problem.add({"slow", "1"}, 1, 2.0, {.unit_rate = 10.0, .latency_ms = 2000});     // 1 unit
  problem.add({"quicker", "1"}, 1, 3.0, {.unit_rate = 10.0, .latency_ms = 1450});  // 1 unit
  problem.replications = {3, 3};
  const auto [result, runs] = problem.solve(false, true, 0, 1);
  EXPECT_EQ(result.candidates[1].fate, CandidateFate::beaten);
  EXPECT_EQ(result.candidates[1].probes, 2U);  // at it, and at `quick` beside it
  // A few per cent are left to what a look does not see: it may be no better, and is run.
  EXPECT_EQ(result.candidates[2].fate, CandidateFate::holds);
  EXPECT_EQ(runs, 3U + 2U + 1U + 3U);  // the look at `quick` once
  problem.looks.reset();
  EXPECT_EQ(problem.solve(true).result.front, result.front);
}

TEST(PlanSearch, ALookThatMissesTooOftenIsEnoughOfThatFleet) {
  Problem problem;
  problem.looks = 10;  // of the 100 requests of a look 50 miss where the load is not held
  problem.add({"quick", "1"}, 1, 1.0, {.unit_rate = 10.0, .latency_ms = 1500});  // 1 unit
  problem.add({"slow", "1"}, 1, 2.0, {.unit_rate = 6.0, .latency_ms = 1400});    // 2 units
  problem.candidates[1].bounds.units = 1;
  const auto [result, runs] = problem.solve(false, true, 0, 1);
  EXPECT_EQ(result.candidates[1].fate, CandidateFate::holds);
  EXPECT_EQ(result.candidates[1].units, 2);
  // Looks at both for one unit, at both for two, and the fleet of two.
  EXPECT_EQ(result.candidates[1].probes, 5U);
  EXPECT_EQ(runs, 1U + 2U + 1U + 1U);
}

TEST(PlanSearch, ALookThatMissesTheSloSaysNothing) {
  Problem problem;
  problem.looks = 10;  // more than the 2 of 100 that miss
  problem.add({"quick", "1"}, 1, 1.0, {.unit_rate = 10.0, .latency_ms = 1500});
  problem.add({"slow", "1"}, 1, 2.0,
              {.unit_rate = 10.0, .latency_ms = 2000, .attainments = {0.98}});
  problem.candidates[1].units_max = 1;
  const auto [result, runs] = problem.solve(false, true, 0, 1);
  EXPECT_EQ(result.candidates[1].fate, CandidateFate::fails);
  EXPECT_EQ(result.candidates[1].probes, 3U);  // its fleet was run after it
}

TEST(PlanSearch, BoundsRuleOut) {
  Problem problem = small_problem();
  problem.candidates[0].bounds.attainment = 0.4;
  problem.candidates[2].bounds.too_large = "the weights take 140 GiB";
  problem.candidates[3].units_max = 1;
  problem.candidates[3].bounds.units = 1.5;
  problem.candidates[4].impossible = "TP 3 does not divide the heads";
  const auto [result, runs] = problem.solve(false);
  EXPECT_EQ(result.candidates[0].fate, CandidateFate::too_slow);
  EXPECT_THAT(result.candidates[0].reason, HasSubstr("40 % of requests"));
  EXPECT_EQ(result.candidates[2].fate, CandidateFate::impossible);
  EXPECT_EQ(result.candidates[3].fate, CandidateFate::too_slow);
  EXPECT_THAT(result.candidates[3].reason, HasSubstr("takes 2 of them"));
  EXPECT_EQ(result.candidates[4].fate, CandidateFate::impossible);
  for (const std::size_t i : {0, 2, 3, 4}) EXPECT_EQ(result.candidates[i].probes, 0U);
}

TEST(PlanSearch, ARunMaySayThatItCannotBe) {
  Problem problem = small_problem();
  problem.truth[1].fits = false;
  const auto [result, runs] = problem.solve(false);
  EXPECT_EQ(result.candidates[1].fate, CandidateFate::impossible);
  EXPECT_EQ(result.candidates[1].reason, "it does not fit");
  EXPECT_EQ(*result.cheapest, 0U);
}

TEST(PlanSearch, ARunThatBreaksOffIsNoAnswer) {
  Problem problem = small_problem();
  problem.truth[1].breaks = true;  // the cheapest, were it known
  try {
    (void)problem.solve(false);
    FAIL() << "the plan named another choice";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("failed, so its result is unknown: ended by"));
  }
}

TEST(PlanSearch, SaysThatNoFleetHolds) {
  Problem problem;
  problem.add({"small", "1"}, 1, 1.0, {.unit_rate = 0.1, .latency_ms = 100});  // 100 units
  problem.candidates[0].bounds.units = 1;
  const auto [result, runs] = problem.solve(false);
  EXPECT_EQ(result.candidates[0].fate, CandidateFate::fails);
  EXPECT_THAT(result.candidates[0].reason, HasSubstr("64 of them, the most allowed, still miss"));
  EXPECT_FALSE(result.cheapest.has_value());
  EXPECT_THAT(result.front, IsEmpty());
}

TEST(PlanSearch, TheCheapestAloneIsTheSame) {
  const auto cheapest = small_problem().solve(false, false);
  EXPECT_EQ(cheapest.result.cheapest, small_problem().solve(false, true).result.cheapest);
  EXPECT_THAT(cheapest.result.front, ElementsAre(1U));
}

TEST(PlanSearch, SeedsThatHoldOnAverageAloneDoNotHold) {
  Problem problem = small_problem();
  problem.replications = {2, 5};
  // On average 0.992: the next cheapest is the answer, and the seeds of what holds are kept.
  problem.truth[1].attainments = {0.999, 0.976, 0.999, 0.987, 0.999};
  const auto [result, runs] = problem.solve(false);
  EXPECT_EQ(*result.cheapest, 0U);
  EXPECT_THAT(result.candidates[0].attainments, ElementsAre(1.0, 1.0));
  EXPECT_DOUBLE_EQ(result.candidates[0].attainment_low, 1.0);
}

TEST(PlanSearch, TheMarginIsHeldToo) {
  Problem problem = small_problem();
  problem.asked = 1.05;  // 10.5 requests a second: 4 units of 2.5 hold 10
  const auto [result, runs] = problem.solve(false);
  EXPECT_EQ(result.candidates[1].units, 5);
}

TEST(PlanSearch, SmallUnitsAreCheaperToSpare) {
  Problem problem;
  problem.add({"large", "1"}, 8, 10.0,
              {.unit_rate = 10.0, .latency_ms = 500});  // $10, $20 with one more
  problem.add({"small", "1"}, 1, 3.0, {.unit_rate = 2.5, .latency_ms = 900});  // $12, $15
  const auto [result, runs] = problem.solve(false);
  EXPECT_EQ(*result.cheapest, 0U);
  ASSERT_TRUE(result.cheapest_spared.has_value());
  EXPECT_EQ(*result.cheapest_spared, 1U);
  // Of a cluster without room for another there is no spare.
  problem.candidates[1].units_max = 4;
  EXPECT_EQ(*problem.solve(false).result.cheapest_spared, 0U);
}

TEST(PlanSearch, WholeNodesMayTurnTheOrder) {
  PlanCandidate two;
  two.unit_dollars_per_hour = 6;
  two.groups = {{.gpus = 2, .count = 1, .node_gpus = 8, .gpu_dollars_per_hour = 3}};
  EXPECT_EQ(two.nodes(1), 1);
  EXPECT_EQ(two.nodes(4), 1);
  EXPECT_EQ(two.nodes(5), 2);
  EXPECT_DOUBLE_EQ(two.dollars_per_hour(1), 6);
  two.pays_nodes = true;
  EXPECT_DOUBLE_EQ(two.dollars_per_hour(1), 24);
  EXPECT_DOUBLE_EQ(two.dollars_per_hour(5), 48);
  EXPECT_EQ(nodes_of_groups(16, 3, 8), 6);
}

TEST(PlanSearch, WhatWasFoundSurvivesAStop) {
  const auto [result, runs] = small_problem().solve(false, true, 9);
  EXPECT_FALSE(result.is_complete);
  EXPECT_GT(result.undecided(), 0U);
}

TEST(PlanSearch, WhereFewDoNoSearchTakesMoreRunsThanCounting) {
  RandomStream random = RandomStreams(11).stream("problems");
  std::size_t searched = 0, counted = 0;
  for (int round = 0; round < 200; ++round) {
    Problem problem;
    for (const char* gpu : {"a", "b"}) {
      for (const int ranks : {1, 2, 4}) {
        problem.add({gpu, std::to_string(ranks)}, ranks, ranks * (0.5 + uniform(random)),
                    {.unit_rate = load / (0.2 + 5.8 * uniform(random)),
                     .latency_ms = 500 + 4000 * uniform(random),
                     .fits = uniform(random) < 0.9});
      }
    }
    const auto quick = problem.solve(false);
    const auto all = problem.solve(true);
    EXPECT_EQ(quick.result.front, all.result.front) << round;
    EXPECT_LE(quick.runs, all.runs) << round;
    searched += quick.runs;
    counted += all.runs;
  }
  EXPECT_LT(searched, counted);
}

TEST(PlanSearch, AgreesWithASweepOnManyProblems) {
  RandomStream random = RandomStreams(7).stream("problems");
  std::size_t cheap = 0, saved = 0, swept = 0;
  for (int round = 0; round < 200; ++round) {
    Problem problem;
    for (const char* gpu : {"a", "b", "c"}) {
      const double speed = 0.5 + uniform(random), price = 0.5 + 3 * uniform(random);
      for (const int ranks : {1, 2, 4, 8}) {
        const double gain = ranks * (0.6 + 0.4 * uniform(random));
        problem.add({gpu, std::to_string(ranks)}, ranks, price * ranks,
                    {.unit_rate = speed * gain,
                     .latency_ms = 4000 / (speed * gain) * (1 + uniform(random)),
                     .fits = ranks > 1 || uniform(random) < 0.5});
      }
    }
    const auto quick = problem.solve(false);
    const auto all = problem.solve(true);
    EXPECT_EQ(quick.result.cheapest, all.result.cheapest) << round;
    EXPECT_EQ(quick.result.front, all.result.front) << round;
    const auto cheapest = problem.solve(false, false);
    EXPECT_EQ(cheapest.result.cheapest, all.result.cheapest) << round;
    cheap += cheapest.runs;
    saved += quick.runs;
    swept += all.runs;
    // However many run at once, the same is asked.
    EXPECT_EQ(problem.solve(false).runs, quick.runs);
    // Another width, another order, the same answer.
    EXPECT_EQ(problem.solve(false, true, 0, 1).result.front, all.result.front) << round;
  }
  EXPECT_LT(cheap, saved);
  EXPECT_LT(saved, swept);
}

}  // namespace
}  // namespace foretoken::plan_search_test

// What a plan reads and works out before it runs anything: [plan], traffic, bounds, requests.

#include <gmock/gmock.h>

#include "sim/base/json.hpp"
#include "sim/base/toml.hpp"
#include "sim/planner/plan/demand_bound.hpp"
#include "sim/planner/plan/max_load.hpp"
#include "sim/planner/plan/plan_page.hpp"
#include "sim/planner/plan/plan_space.hpp"
#include "sim/report/number_text.hpp"
#include "tests/unit/planner/backwards_runner.hpp"
#include "tests/unit/planner/made_up_plan.hpp"

namespace foretoken::plan_inputs_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* scenario_text = R"([model]
name = "llama-3.1-70b"
[cluster]
name = "h100-sxm-8"
[deployment]
tensor_parallel = 4
[workload]
arrivals = "interval"
rate = "10 /s"
requests = 101
prompt_tokens = 1000
output_tokens = 200
[slo]
ttft = "2 s"
tpot = "100 ms"
)";

Value root_of(const std::string& more) { return parse_toml(scenario_text + more, "s.toml"); }

LoadScenario loader(const std::string& more = "") {
  return [more](const Changes& changes) {
    Value root = root_of(more);
    apply_changes(root, changes);
    return read_scenario(root, {"."});
  };
}

Scenario loaded(const std::vector<std::string>& keys) { return loader()(parse_changes(keys)); }

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(PlanSettings, ReadsListsAsAxesInTheirOrder) {
  const PlanSettings settings = read_plan_settings(root_of(R"([plan]
gpus = ["h100-sxm", "l40s"]
tensor_parallel = [2, 4]
preset = ["vllm-v1", "sglang"]
prices = { l40s = "0.50 USD/h" }
[plan.vary.engine]
batch_tokens_max = [2048, 8192]
)"));
  EXPECT_THAT(settings.gpus, ElementsAre("h100-sxm", "l40s"));
  ASSERT_EQ(settings.axes.size(), 3U);
  EXPECT_EQ(settings.axes[0].key, "deployment.tensor_parallel");
  EXPECT_THAT(settings.axes[0].values, ElementsAre("2", "4"));
  EXPECT_EQ(settings.axes[2].key, "engine.batch_tokens_max");
  EXPECT_DOUBLE_EQ(settings.prices.front().price.value(), 0.5);
}

TEST(PlanSettings, NamesLineAndNearestName) {
  const std::string error = error_of([] {
    (void)read_plan_settings(root_of("[plan]\ngpus = [\"h10-sxm\"]\ntensor_paralel = [2]\n"));
  });
  EXPECT_THAT(error, HasSubstr("s.toml:18:"));
  EXPECT_THAT(error, HasSubstr("did you mean 'h100-sxm'"));
  EXPECT_THAT(error, HasSubstr("tensor_parallel"));
}

TEST(PlanSettings, FindsGpusByWhatPeopleCallThem) {
  const PlanSettings settings = read_plan_settings(
      root_of("[plan]\ngpus = [\"H100\", \"NVIDIA L40S\"]\nprices = { H100 = \"2 USD/h\" }\n"));
  EXPECT_THAT(settings.gpus, ElementsAre("h100-sxm", "l40s"));
  EXPECT_EQ(settings.prices.front().gpu, "h100-sxm");
  const auto error_with = [](const std::string& gpus) {
    return error_of([&] { (void)read_plan_settings(root_of("[plan]\ngpus = [" + gpus + "]\n")); });
  };
  EXPECT_THAT(error_with("\"A100 80GB\""),
              HasSubstr("may be a100-pcie or a100-sxm; specify which"));
  EXPECT_THAT(error_with("\"H100\", \"h100-sxm\""), HasSubstr("names h100-sxm twice"));
  EXPECT_THAT(error_with("\"\""), HasSubstr("names no GPU"));
}

TEST(LoadBounds, OfSeveralModelsTheOneThatHasItWorstCounts) {
  const LoadBounds worst = worst_of({{0.5, 0.9, 10}, {0.7, 0.99, 5}, {0.1, 1, 2, "too large"}});
  EXPECT_EQ(worst.units, 0.7);
  EXPECT_EQ(worst.attainment, 0.9);
  EXPECT_EQ(worst.latency_ms, 10);
  EXPECT_EQ(worst.too_large, "too large");
}

// Attention on two H200s, experts on four H100s.
TEST(PlanSpace, ExpertsOnGpusOfAnotherKindCostWhatTheseDo) {
  const Value root = parse_toml(R"([model]
name = "qwen3-30b-a3b"
[cluster]
name = "examples/clusters/h100_and_h200.toml"
[deployment]
data_parallel_attention = 2
expert_parallel = 4
expert_gpus = 4
nodes = "h200"
expert_nodes = "h100"
[workload]
arrivals = "interval"
rate = "10 /s"
requests = 101
prompt_tokens = 1000
output_tokens = 200
[slo]
ttft = "2 s"
[plan]
prices = { h100-sxm = "2 USD/h", h200-sxm = "3 USD/h" }
)",
                                "s.toml");
  const LoadScenario load = [&](const Changes& changes) {
    Value changed = root;
    apply_changes(changed, changes);
    return read_scenario(changed, {FORETOKEN_SOURCE_DIR});
  };
  const PlanSpace space = plan_space(read_plan_settings(root), load, PlanSizing::fleet);
  ASSERT_EQ(space.candidates.size(), 1U);
  const PlanCandidate& unit = space.candidates[0];
  EXPECT_EQ(unit.unit_gpus, 6);
  EXPECT_DOUBLE_EQ(unit.unit_dollars_per_hour, 2 * 3 + 4 * 2);
  EXPECT_THAT(unit.unit_gpus_by_name,
              ElementsAre(std::pair("h200-sxm", 2), std::pair("h100-sxm", 4)));
}

TEST(PlanSpace, SizesHardwareToTheUnits) {
  const PlanSettings settings = read_plan_settings(root_of(
      "[plan]\ngpus = [\"h100-sxm\"]\ntensor_parallel = [2, 8]\npipeline_parallel = [1, 2]\n"));
  const PlanSpace space = plan_space(settings, loader(), PlanSizing::fleet);
  ASSERT_EQ(space.candidates.size(), 4U);
  EXPECT_EQ(space.candidates[1].unit_gpus, 4);  // TP 2, PP 2
  EXPECT_DOUBLE_EQ(space.candidates[1].unit_dollars_per_hour, 4 * 2.99);
  EXPECT_EQ(space.candidates[0].units_max, 64);
  EXPECT_EQ(space.candidates[3].units_max, 16);  // 256 GPUs of 16
  // Five pairs of stages of two: ten groups, four a node.
  EXPECT_EQ(space.keys[1].cluster_name(5), "h100-sxm-8x3");
  EXPECT_EQ(space.keys[0].cluster_name(4), "h100-sxm-8");
  EXPECT_THAT(texts_of(space.keys[1].deployment(5)),
              ElementsAre("cluster.name=h100-sxm-8x3", "deployment.tensor_parallel=2",
                          "deployment.pipeline_parallel=2", "deployment.replicas=5"));
}

TEST(PlanSpace, WhatCannotBeIsNoMistake) {
  const PlanSettings settings =
      read_plan_settings(root_of("[plan]\ngpus = [\"h100-sxm\"]\ntensor_parallel = [3, 4]\n"));
  const PlanSpace space = plan_space(settings, loader(), PlanSizing::fleet);
  EXPECT_THAT(space.candidates[0].impossible, HasSubstr("does not divide the 64 query heads"));
  EXPECT_EQ(space.candidates[1].impossible, "");
}

TEST(PlanSpace, AsksForATargetThatWaitingBreaks) {
  const auto load = [](const Changes& changes) {
    Scenario scenario = loader()(changes);
    scenario.slo.ttft.reset();
    return scenario;
  };
  EXPECT_THAT(
      error_of([&] { (void)plan_space(read_plan_settings(root_of("")), load, PlanSizing::fleet); }),
      HasSubstr("give [slo] ttft or e2e"));
}

TEST(PlanSpace, APriceNobodyPaysIsAMistake) {
  const PlanSettings settings = read_plan_settings(
      root_of("[plan]\ngpus = [\"h100-sxm\"]\nprices = { h200-sxm = \"1 USD/h\" }\n"));
  EXPECT_THAT(error_of([&] { (void)plan_space(settings, loader(), PlanSizing::fleet); }),
              HasSubstr("plan.prices: unknown GPU of this plan 'h200-sxm'"));
}

/// 10 ms and 10 us a token.
StepTimes made_up_steps(const Scenario&) {
  return [](const BatchShape& batch) {
    return std::vector{Seconds(10e-3 + 10e-6 * static_cast<double>(batch.tokens))};
  };
}

TEST(LoadBounds, FollowFromThePricesOfSteps) {
  const Scenario scenario = loaded({"deployment.tensor_parallel=8", "engine.sequences_max=256"});
  const TrafficSample traffic = sample_traffic(scenario);
  EXPECT_NEAR(traffic.rate.value(), 10.0, 1e-9);
  EXPECT_FALSE(traffic.is_recorded);
  const LoadBounds bounds = load_bounds(scenario, traffic, "tpot_p50_ms", made_up_steps, {});
  EXPECT_EQ(bounds.too_large, "");
  // 5 % are left for prices that are not monotone.
  EXPECT_NEAR(bounds.latency_ms, 0.95 * 10.01, 1e-9);
  // A prompt, priced as 882 tokens (the sixth below 1,000), is 881 tokens more than a step of one;
  // 199 tokens are parts of steps of 256 sequences. Ten a second, 99 of 101 of them, within 10 s
  // and the 2 s + 199 x 100 ms that the last may take.
  const double request_s = 0.95 * (881 * 10e-6 + 199 * (10e-3 + 256 * 10e-6) / 256);
  EXPECT_NEAR(bounds.units, 10 * 99.0 / 101 * request_s * 10 / 31.9, 1e-4);
}

TEST(LoadBounds, ABurstTakesMoreThanTheMean) {
  // Four pieces of a second each within 2 s take two servers, but one of them may be left out.
  EXPECT_DOUBLE_EQ(servers_at_least({{0, 2, 1}, {0, 2, 1}, {0.5, 2, 1}, {0, 2, 1}}, 0), 2.0);
  EXPECT_DOUBLE_EQ(servers_at_least({{0, 2, 1}, {0, 2, 1}, {0.5, 2, 1}, {0, 2, 1}}, 1), 1.5);
  // What comes later is due within less: 2 s of work between 9 and 10.
  EXPECT_DOUBLE_EQ(servers_at_least({{0, 10, 1}, {9, 10, 1}, {9, 10, 1}, {9, 20, 5}}, 0), 2.0);
  EXPECT_EQ(servers_at_least({}, 0), 0.0);
  // A hundred prompts at once, 8.4 ms each, are due in 2 s; spread over 10 s they take a fifth.
  const auto units = [](const std::string& more) {
    const Scenario scenario = loaded({"deployment.tensor_parallel=8", more});
    return load_bounds(scenario, sample_traffic(scenario), "e2e_p50_ms", made_up_steps, 1.0).units;
  };
  EXPECT_NEAR(units("workload.rate=2000 /s"), 100 * 0.95 * 881 * 10e-6 / 2.05, 0.01);
  EXPECT_LT(units("workload.rate=10 /s"), 0.3 * units("workload.rate=2000 /s"));
}

TEST(LoadBounds, FullStepsEndWhereTheCacheDoes) {
  // Per token 80 layers x 8 heads x 128 x 2 x 2 bytes over two GPUs, 160 KiB: beside the weights
  // 0.9 of two H100s have room for 36,000 tokens or so, 35 sequences of 1,029.
  const Scenario scenario = loaded({"deployment.tensor_parallel=2", "engine.sequences_max=256"});
  std::int64_t most = 0;
  const PriceSteps price = [&](const Scenario&) -> StepTimes {
    return [&](const BatchShape& batch) {
      if (batch.attention.prefill.sequences == 0) most = std::max(most, batch.tokens);
      return std::vector{Seconds(1.0)};
    };
  };
  (void)load_bounds(scenario, sample_traffic(scenario), "tpot_p50_ms", price, {});
  EXPECT_NEAR(most, 35, 2);
}

TEST(LoadBounds, SayThatWeightsAreTooLarge) {
  const Scenario scenario = loaded({"deployment.tensor_parallel=1"});
  const LoadBounds bounds =
      load_bounds(scenario, sample_traffic(scenario), "e2e_p50_ms", made_up_steps, {});
  EXPECT_THAT(bounds.too_large, HasSubstr("131 GiB of each GPU"));
}

TEST(LoadBounds, NobodyCanMeetATargetBelowThem) {
  Scenario scenario = loaded({"slo.tpot=5 ms"});
  EXPECT_EQ(
      load_bounds(scenario, sample_traffic(scenario), "e2e_p50_ms", made_up_steps, {}).attainment,
      0.0);
}

constexpr const char* one_choice = "[plan]\ngpus = [\"h100-sxm\"]\ntensor_parallel = [4]\n";

TEST(PlanSpace, TriesUsualSizesWhereNobodySays) {
  const auto tensor_of = [](const std::string& more) {
    const Value root = parse_toml(
        more.find("tensor_parallel") == std::string::npos ? scenario_text + more : more, "s.toml");
    return read_plan_settings(root).usual_tensor;
  };
  EXPECT_THAT(tensor_of("[plan]\ngpus = [\"h100-sxm\"]\n"), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(tensor_of("[deployment]\ntensor_parallel = 16\n"),
              ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_TRUE(tensor_of(std::string("[deployment]\ntensor_parallel = 4\n[plan]\n"
                                    "tensor_parallel = [4]\n"))
                  .empty());
  EXPECT_TRUE(
      tensor_of("[deployment]\ntensor_parallel = 1\ndata_parallel_attention = 8\n").empty());
  EXPECT_TRUE(tensor_of("[pool.decode]\ntensor_parallel = 4\n").empty());
  const PlanSettings settings = read_plan_settings(root_of("[plan]\ngpus = [\"h100-sxm\"]\n"));
  EXPECT_EQ(plan_space(settings, loader(), PlanSizing::fleet).candidates.size(), 4U);
  // How much a given cluster holds is asked of the layout that it has.
  EXPECT_EQ(
      plan_space(read_plan_settings(root_of("")), loader(), PlanSizing::cluster).candidates.size(),
      1U);
}

TEST(PlanRequests, AUnitGetsItsShareAndAFleetAll) {
  const PlanSpace space =
      plan_space(read_plan_settings(root_of(one_choice)), loader(), PlanSizing::fleet);
  const PlanRequests requests = space.requests();
  const RunRequest unit =
      requests.requests({.kind = PlanProbe::Kind::unit, .units = 4, .replication = 2}).front();
  EXPECT_THAT(texts_of(unit.changes), Contains("deployment.replicas=1"));
  EXPECT_THAT(texts_of(unit.changes), Contains("workload.rate_scale=0.25"));
  EXPECT_THAT(texts_of(unit.changes), Contains("run.seed=3"));
  // 10 s of traffic take 40; a tenth of that is not counted.
  EXPECT_THAT(texts_of(unit.changes), Contains("run.warmup=4 s"));
  EXPECT_EQ(unit.misses_max, std::nullopt);
  const RunRequest fleet = requests.requests({.units = 4}).front();
  EXPECT_THAT(texts_of(fleet.changes),
              ElementsAre("cluster.name=h100-sxm-8x2", "deployment.tensor_parallel=4",
                          "deployment.replicas=4", "run.intervals=none"));
  EXPECT_THAT(fleet.misses_max, ::testing::Optional(1)) << "of 101 requests";
  EXPECT_EQ(requests.requests({.units = 4, .replication = 1}).front().misses_max, std::nullopt)
      << "of other seeds the attainment counts";
  EXPECT_THAT(texts_of(requests.whole_run({.units = 4, .load = 1.05})),
              ElementsAre("cluster.name=h100-sxm-8x2", "deployment.tensor_parallel=4",
                          "deployment.replicas=4", "workload.rate_scale=1.05"));
}

TEST(PlanRequests, SlowerStepsAreMoreLoadAndTighterTargets) {
  const PlanSpace space =
      plan_space(read_plan_settings(root_of(one_choice)), loader(), PlanSizing::fleet);
  const RunRequest run = space.requests().requests({.units = 2, .slowdown = 1.25}).front();
  EXPECT_THAT(texts_of(run.changes), Contains("workload.rate_scale=1.25"));
  EXPECT_THAT(texts_of(run.changes), Contains("slo.ttft=1.6 s"));
  EXPECT_THAT(texts_of(run.changes), Contains("slo.tpot=0.08 s"));
  EXPECT_EQ(run.misses_max, std::nullopt) << "its figures are wanted";
}

TEST(PlanRequests, ADayIsSampledTheBusiestHoursFirst) {
  const auto load = [](const Changes& changes) {
    Changes all = parse_changes(
        {"workload.requests=864000", "workload.diurnal={ amplitude = 0.8, peak = \"15 h\" }"});
    all.insert(all.end(), changes.begin(), changes.end());
    return loader()(all);
  };
  const PlanSpace space =
      plan_space(read_plan_settings(root_of(one_choice)), load, PlanSizing::fleet);
  EXPECT_EQ(space.traffic.count, 864000);
  EXPECT_NEAR(space.traffic.arrivals.between(Seconds(0), Seconds(1e6)), 864000, 1e-3);
  const PlanRequests requests = space.requests();
  EXPECT_TRUE(requests.is_sampled());
  const std::vector<RunRequest> samples = requests.requests({.units = 2, .load = 2});
  ASSERT_EQ(samples.size(), 8U);
  // Eight windows of 150 s in the middle of three hours each, in half of the time: those at 13.5
  // and 16.5 h, next to the peak, begin at 24,263 and 29,663 s.
  EXPECT_THAT(fmt::format("{}", fmt::join(texts_of(samples.front().changes), " ")),
              HasSubstr("workload.rate_scale=2 workload.diurnal.period=43200 s "
                        "workload.diurnal.peak=27000 s workload.part=[\"2"));
  // 8 x 1,500 requests or so, each of which may miss with 1 %, and a fifth more.
  ASSERT_TRUE(samples.front().misses_max.has_value());
  EXPECT_NEAR(static_cast<double>(*samples.front().misses_max), 144, 5);
  EXPECT_EQ(requests.of_fleet({2, 5}).most, 5);
}

std::string look_of(const std::vector<std::string>& keys) {
  const auto load = [&](const Changes& changes) {
    Changes all = parse_changes(keys);
    all.insert(all.end(), changes.begin(), changes.end());
    return loader()(all);
  };
  const PlanSpace space =
      plan_space(read_plan_settings(root_of(one_choice)), load, PlanSizing::fleet);
  const PlanRequests requests = space.requests();
  if (!requests.looks_allow()) return "none";
  const auto asked = requests.requests({.kind = PlanProbe::Kind::look, .units = 2, .load = 2});
  return fmt::format("{}", fmt::join(texts_of(asked.front().changes), " "));
}

TEST(PlanRequests, ALookIsAtTheFirstRequests) {
  EXPECT_EQ(look_of({}), "none");  // a hundred are as quickly run
  EXPECT_THAT(look_of({"workload.requests=1600"}),
              HasSubstr("workload.rate_scale=2 workload.requests=250 run.intervals=none"));
  EXPECT_THAT(look_of({"workload.requests=8000"}), HasSubstr("workload.requests=1000"));
  // A warm-up that takes most of it would leave too few.
  EXPECT_EQ(look_of({"workload.requests=1600", "run.warmup=20 s"}), "none");
  EXPECT_EQ(look_of({"workload.requests=1600", "run.horizon=100 s"}), "none");
}

TEST(HardwareChange, ReadsPerCentAndFactors) {
  const HardwareChange more = HardwareChange::parse("gpu.dram_bandwidth=+20%");
  EXPECT_EQ(more.quantity, "dram_bandwidth");
  EXPECT_DOUBLE_EQ(more.factor, 1.2);
  EXPECT_DOUBLE_EQ(HardwareChange::parse("nic_bandwidth=-25%").factor, 0.75);
  EXPECT_DOUBLE_EQ(HardwareChange::parse("cluster.nvlink_bandwidth=x2").factor, 2.0);
  EXPECT_THAT(error_of([] { (void)HardwareChange::parse("gpu.dram_bandwith=+20%"); }),
              HasSubstr("did you mean 'dram_bandwidth'"));
  EXPECT_THAT(error_of([] { (void)HardwareChange::parse("gpu.dram_bandwidth=20"); }),
              HasSubstr("dram_bandwidth=+20%"));
}

TEST(MaxLoad, OfAClusterThatCannotBeIsNeverTheBest) {
  // The scenario's load holds and no more; three GPUs cannot share 64 heads.
  const PlanSettings settings = read_plan_settings(root_of("[plan]\ntensor_parallel = [4, 3]\n"));
  BackwardsRunner runner([](const RunRequest& request) -> RunOutcome {
    const auto scale = std::ranges::find(request.changes, "workload.rate_scale", &Change::key);
    const bool holds = scale == request.changes.end() || std::stod(scale->value_text()) <= 1;
    return {RunStatus::ran, "", made_up_report(holds ? 1 : 0.5, 1000)};
  });
  const MaxLoad answer = find_max_load(settings, loader(), runner, {.wants_intervals = false});
  ASSERT_EQ(answer.rows.size(), 2U);
  EXPECT_NEAR(answer.rows[0].base.holds, 10, 0.2);  // found to 2 %
  EXPECT_THAT(answer.rows[1].base.impossible, HasSubstr("does not divide the 64 query heads"));
  EXPECT_EQ(answer.best, 0U);
}

/// One cluster that holds ten requests a second, stopped once so many runs have ended.
MaxLoad stopped_after(int runs) {
  const PlanSettings settings = read_plan_settings(root_of("[plan]\ntensor_parallel = [4]\n"));
  BackwardsRunner runner(
      [](const RunRequest& request) -> RunOutcome {
        const auto scale = std::ranges::find(request.changes, "workload.rate_scale", &Change::key);
        const bool holds = scale == request.changes.end() || std::stod(scale->value_text()) <= 1;
        return {RunStatus::ran, "", made_up_report(holds ? 1 : 0.5, 1000)};
      },
      runs);
  return find_max_load(settings, loader(), runner, {});
}

TEST(MaxLoad, AStoppedSearchTellsWhatItHasProven) {
  MaxLoad answer;
  int runs = 0;
  while (answer.rows.empty() || answer.rows[0].base.holds == 0) answer = stopped_after(++runs);
  ASSERT_TRUE(answer.rows[0].base.is_open);
  EXPECT_FALSE(answer.is_complete);
  EXPECT_EQ(answer.best, 0U);
  const std::string holds = brief(answer.rows[0].base.holds);
  const std::string words = "stopped: holds at least " + holds + " requests/s";
  EXPECT_THAT(max_load_table(answer, "a.toml", false, 120), HasSubstr("… TP 4: " + words));
  EXPECT_THAT(max_load_csv(answer), HasSubstr(words));
  EXPECT_THAT(to_json(max_load_value(answer)), HasSubstr(words));
  EXPECT_THAT(max_load_page(answer, "a.toml", loader(), ""), HasSubstr("Holds at least"));
}

TEST(MaxLoad, AStopBeforeAnyLoadIsNoVerdict) {
  const MaxLoad answer = stopped_after(0);
  EXPECT_FALSE(answer.best.has_value());
  const std::string words = "stopped before any load was found";
  EXPECT_THAT(max_load_table(answer, "a.toml", false, 120), HasSubstr(words));
  EXPECT_THAT(max_load_csv(answer), HasSubstr(words));
  EXPECT_THAT(to_json(max_load_value(answer)), HasSubstr(words));
  EXPECT_THAT(max_load_page(answer, "a.toml", loader(), ""), HasSubstr(words));
}

}  // namespace
}  // namespace foretoken::plan_inputs_test

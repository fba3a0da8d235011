// Laws of parallel layouts, whatever they are: no request hangs or is lost, and slower links make
// nothing faster, and clients that give up at any moment hold up nobody else.

#include <gtest/gtest.h>

#include <random>

#include "sim/prices/scenario_prices.hpp"
#include "sim/prices/step_price.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken::layouts_test {
namespace {

/// A scenario with a random layout, batch limits, KV pool and traffic, small enough to take
/// milliseconds. The numbers of mt19937 are the same everywhere; distributions are not, so modulo.
struct RandomCase {
  explicit RandomCase(std::uint32_t seed) : random(seed) {}
  std::uint32_t below(std::uint32_t count) { return random() % count; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<std::uint32_t>(values.size())));
  }
  std::mt19937 random;
};

std::string random_scenario(std::uint32_t seed, bool has_experts) {
  RandomCase pick(seed);
  const int tensor = pick.one_of({1, 2, 4});
  const int pipeline = static_cast<int>(1 + pick.below(6));
  const int attention = has_experts ? pick.one_of({1, 2, 4}) : 1;
  const int ranks = tensor * attention;
  const int expert = has_experts ? pick.one_of({1, ranks, ranks / (ranks > 1 ? 2 : 1)}) : 1;
  const int tokens_max = pick.one_of({48, 64, 200, 1024});
  const int in_flight = pick.one_of({0, 1, 2, pipeline, 2 * pipeline + 1});
  std::string text = fmt::format(
      R"(
[model]
name = "{}"
[cluster]
name = "h200-sxm-8x{}"
[deployment]
tensor_parallel = {}
pipeline_parallel = {}
{}
{}
expert_parallel = {}
replicas = {}
router = "least_outstanding"
[engine]
batch_tokens_max = {}
sequences_max = {}
block_tokens = {}
kv_blocks = {}
host_time = "{} us"
{}
[predictor]
name = "roofline"
detail = "{}"
[workload]
arrivals = "{}"
requests = {}
prompt_tokens = {{ distribution = "uniform", min = 1, max = 600 }}
output_tokens = {{ distribution = "uniform", min = 1, max = 90 }}
)",
      has_experts ? pick.one_of({"qwen3-30b-a3b", "deepseek-v2-lite"}) : "llama-3.1-8b",
      2 * pipeline * ((ranks + 7) / 8), tensor, pipeline,
      attention > 1 ? fmt::format("data_parallel_attention = {}", attention) : "",
      pipeline > 1 && in_flight > 0 ? fmt::format("micro_batches = {}", in_flight) : "", expert,
      1 + pick.below(2), tokens_max, 1 + pick.below(static_cast<std::uint32_t>(tokens_max)),
      pick.one_of({1, 16, 64}), 0, pick.below(2) * 300,
      ranks > 1 && pick.below(2) == 1 ? "overlap = \"two_batch\"" : "",
      pick.one_of({"sums", "plan"}), "all_at_once", 20 + pick.below(60));
  return text;
}

/// Blocks that hold one to three of the longest requests: many preemptions.
std::string tight_pool(std::uint32_t seed, const Scenario& scenario) {
  RandomCase pick(seed + 1'000'000);
  const std::int64_t longest = 690 / scenario.engine.block_tokens + 1;
  return fmt::format("engine.kv_blocks={}", longest * (1 + pick.below(3)));
}

/// Runs it and checks that every request got every token in order of time. Returns preemptions.
double run_and_check(const std::string& text, std::uint32_t seed) {
  const Scenario scenario = scenario_from(
      text, {tight_pool(seed, scenario_from(text)), fmt::format("run.seed={}", seed)});
  StepRecorder recorder;
  RunOptions options;
  options.observer = &recorder;
  const Report report = run_scenario(scenario, Catalogs(), options);
  FORETOKEN_CHECK(report.requests.completed == report.requests.arrived, "{} of {} completed",
                  report.requests.completed, report.requests.arrived);
  std::int64_t drawn = 0, output_tokens = 0;
  for (const StepRecorder::Step& step : recorder.steps) {
    FORETOKEN_CHECK(step.duration > Seconds(0.0), "a step of no time");
    if (step.stage == scenario.deployment.layout.pipeline - 1) drawn += step.shape.logit_rows;
  }
  for (const RequestRow& row : report.rows) {
    output_tokens += row.output_tokens;
    FORETOKEN_CHECK(row.arrival_s <= *row.scheduled_s && *row.scheduled_s < *row.first_token_s &&
                        *row.first_token_s <= *row.finished_s,
                    "request {} out of order", row.id);
  }
  FORETOKEN_CHECK(drawn == output_tokens, "{} tokens drawn, {} counted", drawn, output_tokens);
  return static_cast<double>(report.kv.preemptions);
}

void nothing_is_lost(bool has_experts, std::uint32_t first, std::uint32_t last) {
  double preemptions = 0;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    const std::string text = random_scenario(seed, has_experts);
    const auto result = in_child([&] { return run_and_check(text, seed); });
    ASSERT_TRUE(result.has_value()) << "seed " << seed << text;
    preemptions += *result;
  }
  EXPECT_GT(preemptions, 2 * (last - first)) << "the pools were meant to be too small";
}

TEST(LayoutProperties, NoRequestIsLostInRandomDenseLayouts) { nothing_is_lost(false, 1, 20); }
TEST(LayoutProperties, NoRequestIsLostInRandomExpertLayouts) { nothing_is_lost(true, 1, 20); }
TEST(LayoutProperties, NoRequestIsLostInAnyOfManyLayouts) {
  nothing_is_lost(false, 21, 60);
  nothing_is_lost(true, 21, 60);
}

/// The same with clients that leave while they wait, in prefill, between stages, or in decode.
/// Returns how many left.
double run_and_check_leaving(const std::string& text, std::uint32_t seed) {
  const Scenario scenario = scenario_from(
      text, {tight_pool(seed, scenario_from(text)), fmt::format("run.seed={}", seed),
             "workload.cancellations={share=0.5,after={distribution='exponential',mean='500 ms'}}",
             "workload.timeout={distribution='exponential',mean='4 s'}"});
  StepRecorder recorder;
  RunOptions options;
  options.observer = &recorder;
  const Report report = run_scenario(scenario, Catalogs(), options);
  const std::int64_t left = report.requests.cancelled + report.requests.timed_out;
  FORETOKEN_CHECK(report.requests.completed + left == report.requests.arrived,
                  "{} completed and {} left of {}", report.requests.completed, left,
                  report.requests.arrived);
  std::int64_t drawn = 0, output_tokens = 0;
  for (const StepRecorder::Step& step : recorder.steps) {
    if (step.stage == scenario.deployment.layout.pipeline - 1) drawn += step.shape.logit_rows;
  }
  for (const RequestRow& row : report.rows) output_tokens += row.output_tokens;
  FORETOKEN_CHECK(drawn >= output_tokens, "{} tokens drawn, {} sent", drawn, output_tokens);
  FORETOKEN_CHECK(static_cast<std::int64_t>(report.rows.size()) == report.requests.arrived,
                  "{} rows", report.rows.size());
  return static_cast<double>(left);
}

void leaving_holds_up_nobody(bool has_experts, std::uint32_t first, std::uint32_t last) {
  double left = 0;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    const std::string text = random_scenario(seed, has_experts);
    const auto result = in_child([&] { return run_and_check_leaving(text, seed); });
    ASSERT_TRUE(result.has_value()) << "seed " << seed << text;
    left += *result;
  }
  EXPECT_GT(left, 8 * (last - first)) << "too few left to test anything";
}

TEST(LayoutProperties, ClientsThatLeaveHoldUpNobodyInDenseLayouts) {
  leaving_holds_up_nobody(false, 1, 20);
}
TEST(LayoutProperties, ClientsThatLeaveHoldUpNobodyInExpertLayouts) {
  leaving_holds_up_nobody(true, 1, 20);
}
TEST(LayoutProperties, ClientsThatLeaveHoldUpNobodyInAnyOfManyLayouts) {
  leaving_holds_up_nobody(false, 21, 60);
  leaving_holds_up_nobody(true, 21, 60);
}

/// The scenario with links of `share` the speed, and latencies as much longer.
Scenario with_links(Scenario scenario, double share) {
  NodeSpec& node = scenario.cluster.node;
  node.link_bandwidth *= share;
  node.nic_bandwidth *= share;
  node.link_latency *= 1 / share;
  scenario.cluster.fabric.latency *= 1 / share;
  return scenario;
}

std::string fitting_scenario(std::uint32_t seed) {
  std::string text = random_scenario(seed, seed % 2 == 0);
  text.replace(text.find("block_tokens"), 0, "memory_utilization = 0.95\n");
  return text;
}

// All requests are there from the start and all fit, so batches do not depend on when a step ends.
void slower_links_make_no_run_faster(std::uint32_t first, std::uint32_t last) {
  std::uint32_t slowed = 0;
  for (std::uint32_t seed = first; seed <= last; ++seed) {
    const std::string text = fitting_scenario(seed);
    double before = 0;
    for (const double share : {1.0, 0.5, 0.1}) {
      const auto duration = in_child([&] {
        const Report report = run_scenario(
            with_links(scenario_from(text, {fmt::format("run.seed={}", seed)}), share), Catalogs());
        FORETOKEN_CHECK(report.kv.preemptions == 0, "not all fit");
        return report.duration_s;
      });
      ASSERT_TRUE(duration.has_value()) << "seed " << seed << text;
      EXPECT_GE(*duration, before * (1 - 1e-12)) << "seed " << seed << ", links " << share << text;
      slowed += *duration > before * 1.001 && share < 1 ? 1 : 0;
      before = *duration;
    }
  }
  EXPECT_GT(slowed, last - first) << "most layouts communicate";
}

TEST(LayoutProperties, SlowerLinksNeverMakeARunFaster) { slower_links_make_no_run_faster(1, 8); }
TEST(LayoutProperties, SlowerLinksMakeNoneOfManyRunsFaster) {
  slower_links_make_no_run_faster(9, 25);
}

TEST(LayoutProperties, SlowerLinksNeverMakeAStepFaster) {
  const auto predictor = make_predictor(Catalogs().predictors, "roofline", {});
  BatchShape batch;
  batch.attention = AttentionLoad::exact({{300, 300}, {1, 700}, {1, 90}});
  batch.tokens = 302;
  batch.logit_rows = 3;
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    const Scenario scenario = scenario_from(random_scenario(seed, seed % 2 == 0));
    Seconds before;
    for (const double share : {4.0, 1.0, 0.5, 0.1, 0.01}) {
      const Scenario slower = with_links(scenario, share);
      const StepCost cost = price_step(slower.model, slower.deployment.layout, slower.execution,
                                       slower.cluster, {slower.cluster.comm}, *predictor, batch);
      EXPECT_GE(cost.compute() + cost.communication(), before) << "seed " << seed;
      before = cost.compute() + cost.communication();
    }
  }
}

// Sixteen attention ranks on two nodes, one of which has the only prompt: the transfers are flows
// that the platform simulates beside the computation, alone on their links.
TEST(LayoutProperties, AnOverlappedStepAcrossNodesTakesItsCriticalPath) {
  const Scenario scenario = scenario_from(R"(
[model]
name = "qwen3-30b-a3b"
[cluster]
name = "h200-sxm-8x2"
[deployment]
data_parallel_attention = 16
expert_parallel = 16
[engine]
overlap = "two_batch"
[predictor]
name = "roofline"
[workload]
arrivals = "all_at_once"
requests = 1
prompt_tokens = 2000
output_tokens = 1
)");
  std::vector<GpuId> gpus;
  for (std::uint32_t gpu = 0; gpu < 16; ++gpu) gpus.push_back({gpu});
  const MemoPredictor predictor(make_predictor(Catalogs().predictors, "roofline", {}),
                                scenario.cluster.gpu);
  const CommSettings comm = communication_of(scenario);
  StagePricer pricer(scenario.model, scenario.deployment.layout, scenario.execution, 0,
                     {GroupLinks{}, group_links(scenario.cluster, gpus)}, comm, predictor);
  std::vector<BatchShape> ranks(16);
  ranks[0].attention.prefill.add({2000, 2000});
  ranks[0].tokens = 2000;
  ranks[0].logit_rows = 1;
  const StagePrice price = pricer.price(ranks);
  ASSERT_TRUE(price.overlap.has_value());
  const Report report = run_scenario(scenario, Catalogs());
  EXPECT_NEAR(report.ttft_ms.mean / 1e3 / price.time.value(), 1.0, 1e-6);
}

}  // namespace
}  // namespace foretoken::layouts_test

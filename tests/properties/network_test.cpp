// The network simulated or priced: the same dates where nobody meets anybody, later ones where KV
// caches cross the ports that tensor parallelism uses, and links that lose rate in the middle.

#include <gtest/gtest.h>

#include "tests/properties/forked_run.hpp"

namespace foretoken::network_test {
namespace {

constexpr const char* one_node = R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-8"
[deployment]
tensor_parallel = 4
[predictor]
name = "roofline"
[workload]
arrivals = "poisson"
rate = "60 /s"
requests = 60
prompt_tokens = { distribution = "uniform", min = 1, max = 900 }
output_tokens = { distribution = "uniform", min = 1, max = 60 }
)";

/// Prefill on GPUs 0 and 1, decode on 2 and 3.
constexpr const char* pair_in_a_node = R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-8"
[pool.prefill]
role = "prefill"
tensor_parallel = 2
[pool.decode]
role = "decode"
tensor_parallel = 2
[predictor]
name = "roofline"
[workload]
arrivals = "poisson"
rate = "60 /s"
requests = 60
prompt_tokens = { distribution = "uniform", min = 500, max = 4000 }
output_tokens = { distribution = "uniform", min = 20, max = 60 }
)";

Report run(const char* text, std::vector<std::string> overrides, std::string_view network) {
  overrides.push_back(fmt::format("cluster.network={}", network));
  return run_scenario(scenario_from(text, overrides), Catalogs());
}

/// Over all requests, each with a weight of its own, so that no two can stand in for each other.
double sum_of_dates(const Report& report) {
  double sum = 0;
  for (const RequestRow& row : report.rows)
    sum += (row.finished_s.value_or(0) + row.first_token_s.value_or(0)) * (1 + row.id % 7);
  return sum;
}

std::optional<double> dates(const char* text, const std::vector<std::string>& overrides,
                            std::string_view network) {
  return in_child([&] { return sum_of_dates(run(text, overrides, network)); });
}

TEST(Network, FlowsTakeWhatPricesSayWhereNobodyMeets) {
  const std::vector<std::vector<std::string>> cases = {
      {},
      {"deployment.tensor_parallel=8"},
      {"deployment.tensor_parallel=2", "deployment.replicas=4"},
      {"deployment.tensor_parallel=2", "deployment.pipeline_parallel=2",
       "deployment.micro_batches=1"},
      {"deployment.all_reduce=nccl", "engine.preset=vllm-v1"},
      {"model.name=qwen3-30b-a3b"},
      {"model.name=qwen3-30b-a3b", "deployment.tensor_parallel=2",
       "deployment.data_parallel_attention=4", "deployment.expert_parallel=8"},
      {"model.name=deepseek-v2-lite", "deployment.tensor_parallel=1",
       "deployment.data_parallel_attention=8", "deployment.expert_parallel=8",
       "deployment.expert_exchange=deepep"},
      {"model.name=gpt-oss-120b", "deployment.tensor_parallel=2", "deployment.replicas=2"},
      {"cluster.name=a100-sxm-8", "workload.rate=10 /s"},
      {"cluster.name=l40s-8", "workload.rate=10 /s"},
      {"cluster.name=a100-pcie-8-nvlink-pairs", "workload.rate=10 /s"},
  };
  for (const auto& overrides : cases) {
    const auto priced = dates(one_node, overrides, "memoised");
    const auto leased = dates(one_node, overrides, "flows");
    const auto flows = dates(one_node, overrides, "every_flow");
    ASSERT_TRUE(priced && leased && flows) << fmt::format("{}", fmt::join(overrides, " "));
    EXPECT_NEAR(*leased / *priced, 1, 1e-9) << fmt::format("{}", fmt::join(overrides, " "));
    EXPECT_NEAR(*flows / *priced, 1, 1e-9) << fmt::format("{}", fmt::join(overrides, " "));
  }
}

TEST(Network, LeasesChangeNothingBesideHandovers) {
  for (const char* transfer : {"after_prefill", "layer_wise"}) {
    for (const char* model : {"llama-3.1-8b", "qwen3-30b-a3b"}) {
      const std::vector<std::string> overrides = {
          fmt::format("deployment.kv_transfer={}", transfer), fmt::format("model.name={}", model)};
      const auto leased = dates(pair_in_a_node, overrides, "flows");
      const auto flows = dates(pair_in_a_node, overrides, "every_flow");
      ASSERT_TRUE(leased && flows);
      EXPECT_NEAR(*leased / *flows, 1, 1e-9) << transfer << ' ' << model;
    }
  }
}

TEST(Network, AutoSimulatesWhereAHandoverCrossesThePortsOfAGroup) {
  const Report report = run(pair_in_a_node, {}, "auto");
  ASSERT_TRUE(report.network.has_value());
  EXPECT_GT(report.network->met, 0);
  EXPECT_GT(report.network->alone, report.network->met);
  EXPECT_EQ(report.network->priced, 0);
  EXPECT_GT(report.network->contention_s, 0);
  for (const NamedSeconds& link : report.network->contention_by)
    EXPECT_TRUE(link.name.starts_with("node 0 gpu ")) << link.name;
}

TEST(Network, AutoPricesWhereNobodyCanMeet) {
  const Report report =
      run(one_node, {"deployment.tensor_parallel=2", "deployment.replicas=4"}, "auto");
  EXPECT_FALSE(report.network.has_value());
}

TEST(Network, AutoPricesGroupsWhoseHandoversLeaveByOtherLinks) {
  const Report report =
      run(pair_in_a_node, {"cluster.name=h100-sxm-2x2"}, "auto");  // a node each: network cards
  ASSERT_TRUE(report.network.has_value());
  EXPECT_EQ(report.network->alone + report.network->met, 0);
  EXPECT_GT(report.network->priced, 0);
}

TEST(Network, SharingPortsDelaysWhoSharesThem) {
  const auto priced = dates(pair_in_a_node, {}, "memoised");
  const auto shared = dates(pair_in_a_node, {}, "flows");
  ASSERT_TRUE(priced && shared);
  EXPECT_GT(*shared, *priced);
  EXPECT_LT(*shared, 1.05 * *priced);  // NVLink is wide
}

// One request alone: 32 layers with two all-reduces each at every step. With port 0 at a quarter of
// its rate each takes 4 times its bytes' time; what a step computes and waits for latency is equal.
TEST(Network, ALinkAtAQuarterOfItsRateSlowsEveryTransferOverIt) {
  const std::vector<std::string> one = {"workload.requests=1", "workload.prompt_tokens=4000",
                                        "workload.output_tokens=1"};
  const auto finished = [&](double rate) {
    const std::string text =
        std::string(one_node) +
        (rate < 1
             ? fmt::format("[[failures]]\nat = \"0 s\"\nlink = \"node 0 gpu 0 out\"\nrate = {}\n",
                           rate)
             : "");
    return in_child([&] { return *run(text.c_str(), one, "auto").rows[0].ttft_ms; });
  };
  const auto full = finished(1), half = finished(0.5), quarter = finished(0.25);
  ASSERT_TRUE(full && half && quarter);
  // Bytes take 1 / rate: from a half to a quarter twice what they take at full rate, which the
  // first halving may have cost less (a protocol reaches only a share of a link).
  EXPECT_GT(*half, *full);
  EXPECT_GT(*quarter - *half, *half - *full);
}

// All ports at a half are as slow as each transfer's slowest port at a half.
TEST(Network, ASwitchAtHalfItsRateIsAsSlowAsOnePortAtHalf) {
  const std::vector<std::string> one = {"workload.requests=1", "workload.prompt_tokens=4000",
                                        "workload.output_tokens=1"};
  const auto ttft = [&](const std::string& part) {
    const std::string text =
        std::string(one_node) + "[[failures]]\nat = \"0 s\"\nrate = 0.5\n" + part + "\n";
    return in_child([&] { return *run(text.c_str(), one, "auto").rows[0].ttft_ms; });
  };
  const auto port = ttft("link = \"node 0 gpu 0 out\""), all = ttft("nvswitch = 0");
  ASSERT_TRUE(port && all);
  EXPECT_NEAR(*all / *port, 1, 1e-9);
}

// On MI300X every two GPUs have a wire; without the one from 0 to 1 rings go over others, slower,
// and when it is back as before.
TEST(Network, AWireThatIsDownIsGoneRoundUntilItIsBack) {
  const auto e2e = [&](const std::string& failures, int request) {
    const std::string text = std::string(one_node) + failures;
    return in_child([&, request] {
      return *run(text.c_str(),
                  {"cluster.name=mi300x-8", "workload.rate=1 /s", "workload.requests=12",
                   "workload.prompt_tokens=4000"},
                  "auto")
                  .rows[static_cast<std::size_t>(request)]
                  .e2e_ms;
    });
  };
  const std::string down = "[[failures]]\nat = \"0 s\"\nlink = \"node 0 gpu 0 to 1\"\nrate = 0\n";
  const auto whole = e2e("", 0), round = e2e(down, 0);
  ASSERT_TRUE(whole && round);
  EXPECT_GT(*round, *whole * 1.001);
  const auto before = e2e("", 11), after = e2e(down + "recovers_after = \"2 s\"\n", 11);
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(*after / *before, 1, 1e-9);
}

TEST(Network, ALinkThatRecoversIsAsBefore) {
  const std::string text =
      std::string(one_node) +
      "[[failures]]\nat = \"0 s\"\nlink = \"node 0 gpu 0 out\"\nrate = 0.01\nrecovers_after = \"2 "
      "s\"\n";
  const std::vector<std::string> late = {"workload.rate=1 /s", "workload.requests=12"};
  const auto before = in_child([&] { return *run(one_node, late, "auto").rows[11].e2e_ms; });
  const auto after = in_child([&] { return *run(text.c_str(), late, "auto").rows[11].e2e_ms; });
  ASSERT_TRUE(before && after);
  EXPECT_NEAR(*after / *before, 1, 1e-9);
}

}  // namespace
}  // namespace foretoken::network_test

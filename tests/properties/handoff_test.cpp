// Prefill and decode on replicas of their own: no request is lost or served twice whatever the
// layouts, schedulers and memories are, and KV transfers take the time that hand calculation says,
// alone and beside others.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/own_folder.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken::handoff_test {
namespace {

constexpr const char* one_to_one = R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-1x2"
[pool.prefill]
role = "prefill"
[pool.decode]
role = "decode"
[predictor]
name = "roofline"
[workload]
arrivals = "poisson"
rate = "20 /s"
requests = 60
prompt_tokens = { distribution = "uniform", min = 1, max = 700 }
output_tokens = { distribution = "uniform", min = 1, max = 90 }
)";

Report run(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return run_scenario(scenario_from(text, overrides), Catalogs());
}

/// Both pools on the GPUs of 4 nodes of 4, with tiny memories.
struct Case {
  const char* scheduler;
  std::vector<std::string> overrides;
};

TEST(HandoffProperties, EveryRequestEndsOnceAndEveryBlockIsGivenBack) {
  const std::vector<Case> cases = {
      {"vllm_v1", {}},
      {"vllm_v1", {"pool.prefill.tensor_parallel=2", "pool.decode.tensor_parallel=4"}},
      {"vllm_v1", {"pool.prefill.pipeline_parallel=4", "pool.decode.pipeline_parallel=2"}},
      {"vllm_v1", {"pool.prefill.replicas=3", "pool.decode.replicas=2"}},
      {"vllm_v1", {"engine.prefill_chunk_max=100", "pool.prefill.pipeline_parallel=2"}},
      {"sarathi", {"engine.chunk_tokens=64"}},
      {"sglang", {"engine.chunk_tokens=200"}},
      {"tensorrt_llm", {}},
      {"tensorrt_llm", {"engine.capacity_policy=max_utilization"}},
      {"orca", {}},
      {"static", {}},
      {"shortest_job_first", {}},
      {"priority", {"pool.decode.replicas=2"}},
  };
  for (const Case& one : cases) {
    for (const char* transfer : {"after_prefill", "layer_wise"}) {
      for (const char* first : {"prefill", "decode"}) {
        std::vector<std::string> overrides = {
            "cluster.name=h100-sxm-4x4",
            fmt::format("engine.scheduler={}", one.scheduler),
            "engine.batch_tokens_max=800",
            "engine.sequences_max=16",
            "pool.prefill.engine.kv_blocks=60",
            "pool.decode.engine.kv_blocks=52",  // little more than the longest request needs
            fmt::format("deployment.kv_transfer={}", transfer),
            fmt::format("deployment.first_token={}", first)};
        overrides.insert(overrides.end(), one.overrides.begin(), one.overrides.end());
        const auto fingerprint = [&] {
          return in_child([&]() -> double {
            const Report report = run(one_to_one, overrides);
            FORETOKEN_CHECK(report.requests.completed == 60, "{} of 60 completed",
                            report.requests.completed);
            for (const RequestRow& row : report.rows) {
              const bool is_handed = row.output_tokens > 1;
              FORETOKEN_CHECK(row.handoff.has_value() == is_handed, "request {}", row.id);
              FORETOKEN_CHECK(*row.first_token_s <= *row.finished_s && *row.ttft_ms > 0,
                              "request {}", row.id);
            }
            return static_cast<double>(report.event_fingerprint >> 12);
          });
        };
        const auto what = fmt::format("{}", fmt::join(overrides, " "));
        const auto once = fingerprint();
        ASSERT_TRUE(once.has_value()) << what;
        EXPECT_EQ(once, fingerprint()) << what;
      }
    }
  }
}

TEST(HandoffProperties, WhoIsPreemptedAfterTheHandoverIsRecomputedThere) {
  const Report report =
      run(one_to_one, {"pool.decode.engine.kv_blocks=60", "workload.rate=200 /s"});
  EXPECT_EQ(report.requests.completed, 60);
  EXPECT_GT(report.kv.preemptions, 0);
}

TEST(HandoffProperties, AFullDecodePoolHoldsPrefillUp) {
  const Report report = run(one_to_one, {"pool.decode.engine.kv_blocks=52", "workload.rate=200 /s",
                                         "pool.prefill.engine.kv_blocks=200"});
  EXPECT_EQ(report.requests.completed, 60);
  EXPECT_GT(report.kv_transfers->wait_ms.max, 100);
  // Blocks are kept until they are sent, so that prompts wait for them in the end.
  EXPECT_GT(report.pools[0].kv_peak, 0.9);
}

TEST(HandoffProperties, AHorizonLeavesTheRestUnfinishedAndAccountedFor) {
  for (const char* transfer : {"after_prefill", "layer_wise"}) {
    const auto sum = in_child([&]() -> double {
      const Report report =
          run(one_to_one, {"run.horizon=1 s", fmt::format("deployment.kv_transfer={}", transfer),
                           "pool.decode.engine.kv_blocks=52"});
      FORETOKEN_CHECK(report.requests.unfinished > 0, "all ended");
      return static_cast<double>(report.requests.arrived - report.requests.completed -
                                 report.requests.unfinished);
    });
    EXPECT_EQ(sum, 0.0);
  }
}

TEST(HandoffProperties, WhatNoDecodeReplicaCanHoldFails) {
  const Report report = run(one_to_one, {"pool.decode.engine.kv_blocks=30"});  // 480 tokens
  EXPECT_GT(report.requests.failed, 0);
  EXPECT_EQ(report.requests.failed + report.requests.completed, 60);
}

constexpr const char* slow_pools = R"([model]
name = "llama-3.1-8b"
[cluster]
name = ""
[pool.prefill]
role = "prefill"
[pool.decode]
role = "decode"
[predictor]
name = "roofline"
[workload]
arrivals = "trace"
trace = ""
trace_format = "csv"
)";

/// Nodes of `gpus` GPUs that share one NIC of 1 GB/s.
class OneNic : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = own_folder() / "handoff";
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string cluster(int nodes, int gpus) const {
    const std::string path = (folder_ / fmt::format("{}x{}.toml", nodes, gpus)).string();
    std::ofstream(path) << fmt::format(R"(name = "slow"
gpu = "h100-sxm"
nodes = {}
[node]
gpus = {}
link = "{}"
link_latency = "0.6 us"
nics = 1
nic_bandwidth = "1 GB/s"
[fabric]
kind = "single_switch"
latency = "5 us"
)",
                                       nodes, gpus, gpus > 1 ? "nvswitch" : "single");
    return path;
  }

  struct Arrival {
    double date;
    int prompt_tokens;
    int output_tokens = 2;
  };
  std::string trace(const std::vector<Arrival>& requests) const {
    const std::string path = (folder_ / fmt::format("{}.csv", requests.size())).string();
    std::ofstream file(path);
    file << "arrival_s,prompt_tokens,output_tokens\n";
    for (const Arrival& request : requests)
      file << fmt::format("{},{},{}\n", request.date, request.prompt_tokens, request.output_tokens);
    return path;
  }

  /// Of request 0, ms.
  std::optional<double> transfer(
      std::vector<std::string> overrides, const std::vector<Arrival>& requests,
      double RequestRow::Handoff::*figure = &RequestRow::Handoff::transfer_ms) const {
    overrides.push_back("workload.trace=" + trace(requests));
    return in_child([&] { return (*run(slow_pools, overrides).rows.front().handoff).*figure; });
  }

 private:
  std::filesystem::path folder_;
};

// Llama 3.1 8B in bf16: 2 * 8 heads * 128 * 2 B = 4,096 B a token and layer, 32 layers.
TEST_F(OneNic, KvAndPipelineSendsShareANic) {
  // Stages on nodes of their own: 0 and 1 prefill, 2 and 3 decode. The KV cache of request 0 leaves
  // node 0 for node 2 (its 16 layers of 2,000 tokens: 131 MB) while the hidden states of request 1
  // leave node 0 for node 1: hidden and residual, 2 * 4,096 * 2 B * 1,000 tokens = 16.4 MB.
  const std::vector<std::string> overrides = {"cluster.name=" + cluster(4, 1),
                                              "pool.prefill.pipeline_parallel=2",
                                              "pool.decode.pipeline_parallel=2"};
  const auto alone = transfer(overrides, {{0.0, 2000}});
  const auto beside = transfer(overrides, {{0.0, 2000}, {0.1, 1000, 1}});
  ASSERT_TRUE(alone && beside);
  EXPECT_NEAR(*alone, 131.072 / 0.92, 20);  // at the share of the NIC that a transfer reaches
  // Both have half the NIC while both are there: the longer one ends as much later as the other
  // one's bytes take.
  EXPECT_NEAR(*beside / *alone, 1 + 16.384 / 131.072, 1e-3);
}

TEST_F(OneNic, TransfersOfTwoReplicasShareANic) {
  // Two prefill replicas on node 0, two decode replicas on node 1; equal prompts at the same time.
  const std::vector<std::string> overrides = {"cluster.name=" + cluster(2, 2),
                                              "pool.prefill.replicas=2", "pool.decode.replicas=2"};
  const auto alone = transfer(overrides, {{0.0, 2000}});
  const auto beside = transfer(overrides, {{0.0, 2000}, {0.0, 2000}});
  ASSERT_TRUE(alone && beside);
  EXPECT_NEAR(*beside / *alone, 2, 1e-3);
}

// A prompt of 2,000 tokens takes some 30 ms to compute and 285 ms to send: at 150 ms its KV cache
// is on its way, whichever end fails then.
TEST_F(OneNic, ACacheOnItsWayIsComputedAgainWhenAnEndFails) {
  for (const char* pool : {"prefill", "decode"}) {
    for (const char* transfer : {"after_prefill", "layer_wise"}) {
      const auto row = [&](int attempts, const std::string& failures,
                           double (*figure)(const RequestRow&)) {
        const std::string text = std::string(slow_pools) + failures;
        return in_child([&] {
          const Report report = run(
              text, {"cluster.name=" + cluster(2, 1), "workload.trace=" + trace({{0.0, 2000, 5}}),
                     fmt::format("front_end.attempts_max={}", attempts),
                     fmt::format("deployment.kv_transfer={}", transfer)});
          return figure(report.rows.front());
        });
      };
      const auto finished = [](const RequestRow& r) { return r.finished_s.value_or(-1); };
      const auto sent = [](const RequestRow& r) {
        return r.attempts + 100.0 * static_cast<double>(r.output_tokens) +
               (r.status == "completed" ? 1e4 : 0);
      };
      const std::string failure = fmt::format(
          "[[failures]]\nat = \"150 ms\"\nreplica = 0\npool = \"{}\"\nrecovers_after = "
          "\"50 ms\"\n",
          pool);
      const auto alone = row(3, "", finished), again = row(3, failure, finished);
      ASSERT_TRUE(alone && again) << pool << transfer;
      // It begins anew when the replica is back, or at once where the other end has failed, but its
      // bytes find those of the first attempt still on the wire.
      EXPECT_GT(*again, *alone + 0.149) << pool << transfer;
      EXPECT_LT(*again, *alone + 0.151 + 0.285) << pool << transfer;
      EXPECT_EQ(row(3, failure, sent), 10'502.0) << pool << transfer;
      EXPECT_EQ(row(1, failure, sent), 101.0) << pool << transfer;  // the first token, then failed
    }
  }
}

TEST_F(OneNic, LayersFollowTheComputationAndTheTailIsWhatIsLeft) {
  const std::vector<std::string> later = {"cluster.name=h100-sxm-1x2"};
  const std::vector<std::string> layers = {"cluster.name=h100-sxm-1x2",
                                           "deployment.kv_transfer=layer_wise"};
  using Handoff = RequestRow::Handoff;
  // time = latency + bytes / rate: two prompts give both.
  const auto t1 = transfer(later, {{0.0, 1000}});
  const auto t2 = transfer(later, {{0.0, 2000}});
  ASSERT_TRUE(t1 && t2);
  const double per_thousand = *t2 - *t1;
  const double latency = *t1 - per_thousand;
  EXPECT_GT(latency, 0);
  // A fast network: only the last of 32 layers is left when the prompt is done.
  const auto tail = transfer(layers, {{0.0, 2000}}, &Handoff::exposed_ms);
  ASSERT_TRUE(tail.has_value());
  EXPECT_NEAR(*tail, latency + 2 * per_thousand / 32, 2e-3);
  // A slow one: it starts after the first layer and takes as long as it takes. A prompt of T ms
  // leaves latency + T / 32 + bytes / rate - T.
  const std::vector<std::string> slow = {"cluster.name=" + cluster(2, 1),
                                         "deployment.kv_transfer=layer_wise"};
  const auto all = transfer({"cluster.name=" + cluster(2, 1)}, {{0.0, 2000}});
  const auto exposed = transfer(slow, {{0.0, 2000}}, &Handoff::exposed_ms);
  const auto whole = transfer(slow, {{0.0, 2000}}, &Handoff::transfer_ms);
  ASSERT_TRUE(all && exposed && whole);
  EXPECT_NEAR(*whole, *all, 0.05);
  const double prompt = (*whole - *exposed) * 32 / 31;  // T - T / 32 passed before its end
  const auto first_token = in_child([&] {
    Scenario scenario = scenario_from(
        one_to_one,
        {"workload.requests=1", "workload.prompt_tokens=2000", "workload.output_tokens=2"});
    return *run_scenario(scenario, Catalogs()).rows.front().ttft_ms;
  });
  ASSERT_TRUE(first_token.has_value());
  EXPECT_NEAR(prompt, *first_token, 0.01 * *first_token);
}

// Two requests at once for a decode replica of one slot, whose blocks hold both: the second KV
// cache stays where it was computed until the first request has had its last token.
TEST(HandoffProperties, AKvCacheWaitsForASlotWhereItWasComputed) {
  std::string scenario = one_to_one;
  scenario.replace(scenario.find("rate = \"20 /s\"\n"), 15, "");
  const auto second_after_first_ended = [&](int slots) {
    return in_child([&]() -> double {
      const Report report =
          run(scenario,
              {"workload.arrivals=all_at_once", "workload.requests=2", "workload.prompt_tokens=500",
               "workload.output_tokens=50", "deployment.first_token=decode",
               fmt::format("pool.decode.engine.sequences_max={}", slots)});
      return *report.rows[1].first_token_s - *report.rows[0].finished_s;
    });
  };
  const auto one = second_after_first_ended(1), two = second_after_first_ended(2);
  ASSERT_TRUE(one && two);
  EXPECT_GT(*one, -1e-3);
  EXPECT_LT(*two, -0.05);
}

}  // namespace
}  // namespace foretoken::handoff_test

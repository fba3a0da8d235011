// Prompts that the decode replica computes itself, where prefill and decode are apart: short ones
// cross no network, all requests end once, and where all are short the decode pool is what one
// engine for both would be.

#include <gtest/gtest.h>

#include "tests/properties/counted_sessions.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken::local_prefill_test {
namespace {

constexpr const char* workload = R"([engine]
kv_blocks = 200
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
  return run_scenario(scenario_from(text + workload, overrides), Catalogs());
}

Report run_apart(const std::vector<std::string>& overrides) {
  return run(
      "[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = \"h100-sxm-1x2\"\n"
      "[pool.prefill]\nrole = \"prefill\"\n[pool.decode]\nrole = \"decode\"\n",
      overrides);
}

TEST(LocalPrefill, OnlyLongPromptsTravel) {
  for (const char* scheduler :
       {"vllm_v1", "sarathi", "sglang", "tensorrt_llm", "orca", "priority"}) {
    for (const char* transfer : {"after_prefill", "layer_wise"}) {
      const auto local = in_child([&]() -> double {
        // Room for little more than one request: those that come and those that begin meet.
        const Report report =
            run_apart({fmt::format("engine.scheduler={}", scheduler),
                       fmt::format("deployment.kv_transfer={}", transfer),
                       "deployment.local_prefill_max=300", "pool.decode.engine.kv_blocks=52",
                       "workload.rate=200 /s", "engine.batch_tokens_max=800"});
        FORETOKEN_CHECK(report.requests.completed == 60, "{} of 60", report.requests.completed);
        std::int64_t stayed = 0;
        for (const RequestRow& row : report.rows) {
          const bool is_handed = row.output_tokens > 1 && row.prompt_tokens > 300;
          FORETOKEN_CHECK(row.handoff.has_value() == is_handed, "request {}", row.id);
          FORETOKEN_CHECK(*row.first_token_s <= *row.finished_s && *row.ttft_ms > 0, "request {}",
                          row.id);
          stayed += row.prompt_tokens <= 300 && row.output_tokens > 1 ? 1 : 0;
        }
        FORETOKEN_CHECK(report.kv_transfers->local == stayed, "{} of {}",
                        report.kv_transfers->local, stayed);
        FORETOKEN_CHECK(report.pools[1].kv_peak > 0.9, "room for all");
        return static_cast<double>(stayed);
      });
      ASSERT_TRUE(local.has_value()) << scheduler << " " << transfer;
      EXPECT_GT(*local, 10);
    }
  }
}

/// Of one run: dates of all first and last tokens.
std::optional<std::vector<double>> dates(const std::function<Report()>& simulated) {
  std::vector<double> found;
  for (const int part : {0, 1}) {
    const auto sum = in_child([&]() -> double {
      double weighed = 0;
      for (const RequestRow& row : simulated().rows)
        weighed += (part == 0 ? *row.first_token_s : *row.finished_s) * (1 + row.id % 7);
      return weighed;
    });
    if (!sum) return std::nullopt;
    found.push_back(*sum);
  }
  return found;
}

TEST(LocalPrefill, OfAllPromptsIsWhatOneEngineDoes) {
  const auto apart = dates([] { return run_apart({"deployment.local_prefill_max=700"}); });
  const auto both = dates(
      [] { return run("[model]\nname = \"llama-3.1-8b\"\n[cluster]\nname = \"h100-sxm-1x2\"\n"); });
  ASSERT_TRUE(apart && both);
  EXPECT_EQ(*apart, *both);
  const auto handed = dates([] { return run_apart({}); });
  ASSERT_TRUE(handed.has_value());
  EXPECT_NE(*apart, *handed);
}

/// Blocks of 16, the first turns computed where they are decoded. The prefill replica
/// computes 314 tokens and keeps 304, of which the third turn finds all, the second session's turns
/// the system prompt's 64 and 304. The decode replica computes the second session's first turn
/// behind the system prompt; of all other prompts it has 208 and 352, which need not come.
TEST(LocalPrefill, PrefixesAreCountedWhereThePromptIsComputed) {
  const Report report = run_scenario(scenario_from(std::string(R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1x2"
[deployment]
local_prefill_max = 200
[pool.prefill]
role = "prefill"
[pool.decode]
role = "decode"
[predictor]
name = "roofline"
)") + counted_sessions),
                                     Catalogs());
  ASSERT_EQ(report.kv_transfers->local, 2);
  const double asked = 2 * (164 + 314 + 464);
  EXPECT_DOUBLE_EQ(*report.kv.prefix_hit_rate, (304 + 64 + 64 + 304) / asked);
  EXPECT_DOUBLE_EQ(*report.pools[0].prefix_hit_rate, (304 + 64 + 304) / (asked - 2 * 164));
  EXPECT_DOUBLE_EQ(*report.pools[1].prefix_hit_rate, (64 + 2 * (208 + 352)) / asked);
}

/// No prefill replica looks, the decode replica does.
TEST(LocalPrefill, DecodeReplicasAloneMayHaveACache) {
  const auto rate = in_child([]() -> double {
    const Report report =
        run_apart({"deployment.local_prefill_max=900", "pool.prefill.engine.prefix_caching=false",
                   "workload.prompt_tokens=50", "workload.system_prompts.tokens=64"});
    FORETOKEN_CHECK(report.kv_transfers->local > 0, "none is local");
    return report.kv.prefix_hit_rate.value_or(-1);
  });
  ASSERT_TRUE(rate.has_value());
  EXPECT_GT(*rate, 0.3);
}

}  // namespace
}  // namespace foretoken::local_prefill_test

// Pools that policy wva scales together: what they must have in common, and what they cost.

#include <gmock/gmock.h>

#include "tests/unit/scenario/scenario_text.hpp"

namespace foretoken::variants_test {
namespace {

using scenario_text::error_of;
using scenario_text::read;
using ::testing::HasSubstr;

std::string two_pools(const std::string& first, const std::string& second,
                      const char* role = "both") {
  return fmt::format(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-8"
[pool.large]
role = "{0}"
tensor_parallel = 2
[pool.large.autoscaler]
policy = "wva"
max = 2
{1}
[pool.small]
role = "{2}"
[pool.small.autoscaler]
policy = "wva"
max = 2
{3}
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 10
prompt_tokens = 100
output_tokens = 10
)",
                     role, first, std::string_view(role) == "prefill" ? "decode" : role, second);
}

TEST(Variants, CostWhatTheirGpusDo) {
  const Scenario scenario = read(two_pools("", ""));
  EXPECT_DOUBLE_EQ(*variant_cost(scenario.pools[0].scenario), 2 * 2.99);
  EXPECT_DOUBLE_EQ(*variant_cost(scenario.pools[1].scenario), 2.99);
  EXPECT_EQ(*variant_cost(read(two_pools("cost = 7", "cost = 9")).pools[1].scenario), 9.0);
}

TEST(Variants, AgreeOnWhatConcernsTheModel) {
  EXPECT_THAT(error_of(two_pools("", "kv_cache_threshold = 0.9")),
              HasSubstr("pool.small.autoscaler.kv_cache_threshold: is 0.9, and 0.8 in pool large; "
                        "wva decides for both together: give both the same"));
  EXPECT_THAT(error_of(two_pools("", "min = 0\nup = [{ replicas = 1 }]\nretention = \"9 min\"")),
              HasSubstr("autoscaler.retention: is \"540 s\", and not set in pool large"));
  EXPECT_EQ(read(two_pools("interval = \"30 s\"", "window_up = \"0 s\"")).pools.size(),
            2U);  // each its own
}

TEST(Variants, HaveCostsThatCanBeCompared) {
  EXPECT_THAT(error_of(two_pools("cost = 7", "")),
              HasSubstr("pool.small.autoscaler.cost: is given in one of the pools large and small; "
                        "give it in both, or in none"));
  EXPECT_THAT(
      error_of(two_pools("", ""), {"cluster.name=h20-8"}),
      HasSubstr("pool.small.autoscaler.cost: h20 has no price to compare with; give cost in "
                "all pools of the model"));
  EXPECT_EQ(read(two_pools("cost = 7", "cost = 9"), {"cluster.name=h20-8"}).pools.size(), 2U);
}

TEST(Variants, ServeWholeRequests) {
  EXPECT_THAT(error_of(two_pools("", "", "prefill")),
              HasSubstr("pool.large.autoscaler.policy: wva scales pools that serve whole requests "
                        "here, and large has the role prefill; use hpa, keda or planner"));
}

}  // namespace
}  // namespace foretoken::variants_test

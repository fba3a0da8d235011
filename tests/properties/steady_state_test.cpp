// What a run costs must not depend on how many requests it simulates: rates are of the steady
// state, and the drain behind the last request stands apart.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/properties/forked_run.hpp"

namespace foretoken {
namespace {

constexpr const char* chat = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[predictor]
name = "roofline"
[run]
intervals = "none"
[workload]
prompt_tokens = { distribution = "lognormal", mean = 1155, p99 = 4142 }
output_tokens = { distribution = "lognormal", mean = 211, p99 = 601 }
)";

double cost_of(const std::string& arrivals, int requests,
               const std::vector<std::string>& overrides) {
  const auto cost = in_child([&] {
    std::vector<std::string> all = overrides;
    all.push_back(fmt::format("workload.requests={}", requests));
    const Scenario scenario = scenario_from(chat + arrivals, all);
    return *run_scenario(scenario, Catalogs()).cost->per_million_output_tokens;
  });
  EXPECT_TRUE(cost.has_value());
  return cost.value_or(NAN);
}

/// How far the cost of few requests may be from that of many.
void expect_same_cost(const std::string& arrivals, const std::vector<std::string>& overrides = {},
                      std::initializer_list<int> few = {200, 1000}) {
  // 200 draws of outputs with a spread of 0.53 have a mean that is 4 % off, as often as not.
  constexpr double tolerance = 0.05;
  const double many = cost_of(arrivals, 16'000, overrides);
  for (const int requests : few) {
    EXPECT_NEAR(cost_of(arrivals, requests, overrides) / many, 1.0, tolerance)
        << requests << arrivals;
  }
}

TEST(SteadyState, CostsTheSameHoweverManyRequests) {
  expect_same_cost("arrivals = \"poisson\"\nrate = \"5.53 /s\"\n");
}

TEST(SteadyState, CostsTheSameWhereRequestsOutliveTheArrivals) {
  // 200 requests arrive in 6 s, and take longer than that.
  expect_same_cost("arrivals = \"interval\"\nrate = \"33 /s\"\n",
                   {"deployment.replicas=8", "cluster.name=l40s-8"});
}

TEST(SteadyState, CostsTheSameWhereUsersWait) {
  expect_same_cost("arrivals = \"closed_loop\"\nusers = 32\n");
}

TEST(SteadyState, CostsTheSameWhereTheServerCannotKeepUp) {
  expect_same_cost("arrivals = \"poisson\"\nrate = \"60 /s\"\n[engine]\nsequences_max = 64\n", {},
                   {1000, 4000});
}

}  // namespace
}  // namespace foretoken

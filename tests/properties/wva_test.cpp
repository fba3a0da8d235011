// Variants of a model that policy wva scales, whatever clients, failures and settings do: each
// request ends exactly once, the same seed gives the same run, replicas stay within min and max,
// more load never takes fewer GPUs, and a single variant is a pool like any other.

#include <gtest/gtest.h>

#include "tests/properties/lifecycle_laws.hpp"

namespace foretoken::wva_test {
namespace {

/// Of a model: what all its pools have.
std::string random_settings(RandomCase& pick, bool may_sleep) {
  const int scrape = static_cast<int>(20 + pick.below(100));
  std::string text = fmt::format(
      "optimization_interval = \"{} ms\"\nscrape_interval = \"{} ms\"\nmetrics_window = \"{} ms\"\n"
      "kv_cache_threshold = {}\nqueue_length_threshold = {}\n",
      50 + pick.below(400), scrape, scrape + static_cast<int>(pick.below(300)),
      pick.one_of({0.3, 0.8}), 1 + pick.below(6));
  text += pick.chance(50) ? "scale_up_threshold = 0.6\nscale_down_boundary = 0.3\n"
                          : "analyzer = \"shares\"\nqueue_spare_trigger = 0.5\n";
  if (may_sleep) text += fmt::format("retention = \"{} ms\"\n", 200 + pick.below(1500));
  return text;
}

std::string random_variants(std::uint32_t seed) {
  RandomCase pick(seed);
  const std::uint32_t pools = 1 + pick.below(3);
  const bool may_sleep = pick.chance(40);
  const std::string settings = random_settings(pick, may_sleep);
  std::string text = fmt::format(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8x4"
[deployment]
router = "{}"
[engine]
batch_tokens_max = {}
sequences_max = {}
host_time = "2 ms"
[predictor]
name = "roofline"
[front_end]
attempts_max = {}
retry_delay = "{} ms"
{}[startup]
time = "{} ms"
is_cold = {}
)",
                                 pick.one_of({"least_outstanding", "kv_load", "round_robin"}),
                                 pick.one_of({200, 1024}), pick.one_of({4, 32}), 1 + pick.below(4),
                                 pick.below(2) * 50, pick.chance(60) ? "" : random_gateway(pick),
                                 pick.below(3) * 200, pick.chance(25) ? "true" : "false");
  for (std::uint32_t i = 0; i < pools; ++i) {
    text += fmt::format(
        "[pool.p{}]\nrole = \"both\"\ntensor_parallel = {}\nreplicas = {}\n"
        "engine = {{ kv_blocks = {} }}\n[pool.p{}.autoscaler]\npolicy = \"wva\"\nmin = {}\n"
        "max = {}\ninterval = \"{} ms\"\nwindow_up = \"{} ms\"\nwindow_down = \"{} ms\"\n"
        "up = [{{ replicas = 2, period = \"100 ms\" }}]\n{}",
        i, pick.one_of({1, 2}), 1 + pick.below(2), pick.one_of({36, 60, 300}), i,
        may_sleep ? 0 : static_cast<int>(pick.below(2)), 2 + pick.below(2), 20 + pick.below(200),
        pick.below(300), pick.below(300), settings);
  }
  for (std::uint32_t i = pick.below(4); i > 0; --i) {
    text += fmt::format("[[failures]]\nat = \"{} ms\"\n", pick.below(2500));
    text += pick.chance(50)
                ? fmt::format("replica = {}\npool = \"p{}\"\n", pick.below(2), pick.below(pools))
                : fmt::format("gpu = {}\n", pick.below(12));
    if (pick.chance(70)) text += fmt::format("recovers_after = \"{} ms\"\n", pick.below(1200));
  }
  return text + random_traffic(pick);
}

TEST(WvaProperties, EveryRequestEndsExactlyOnce) { expect_laws_hold(random_variants, 1, 60); }

TEST(WvaProperties, EveryRequestOfManyEndsExactlyOnce) {
  expect_laws_hold(random_variants, 61, 250);
}

TEST(WvaProperties, TheSameSeedGivesTheSameRun) { expect_same_seed_same_run(random_variants, 20); }

/// Steady load on a variant of single GPUs and, `with_pairs`, one of pairs.
std::string steady(double rate, const char* analyzer, bool with_pairs) {
  const std::string scaler = fmt::format(
      "policy = \"wva\"\nanalyzer = \"{}\"\nmin = 1\nmax = 4\ninterval = \"250 ms\"\n"
      "window_up = \"0 s\"\nwindow_down = \"3 s\"\noptimization_interval = \"1 s\"\n"
      "scrape_interval = \"250 ms\"\nmetrics_window = \"1 s\"\n",
      analyzer);
  return fmt::format(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8x2"
[deployment]
router = "kv_load"
[engine]
kv_blocks = 1000
[predictor]
name = "roofline"
[startup]
time = "500 ms"
[pool.single]
role = "both"
[pool.single.autoscaler]
{0}{1}[workload]
arrivals = "poisson"
rate = "{2} /s"
duration = "60 s"
prompt_tokens = {{ distribution = "uniform", min = 100, max = 900 }}
output_tokens = {{ distribution = "uniform", min = 50, max = 350 }}
)",
                     scaler,
                     with_pairs ? "[pool.pair]\nrole = \"both\"\ntensor_parallel = 2\n"
                                  "[pool.pair.autoscaler]\n" +
                                      scaler
                                : "",
                     rate);
}

/// On average over the run, whose end is that of its last request.
double gpus_of(const std::string& text) {
  const auto gpus = in_child([&] {
    const Report report = run_scenario(scenario_from(text, {}), Catalogs());
    if (report.pools.empty()) return report.fleet->up_mean;
    double sum = 0;
    for (const Report::Pool& pool : report.pools)
      sum += pool.fleet->up_mean * (pool.name == "pair" ? 2 : 1);
    return sum;
  });
  EXPECT_TRUE(gpus.has_value());
  return gpus.value_or(0);
}

TEST(WvaProperties, TwiceTheLoadNeverTakesFewerGpus) {
  for (const char* analyzer : {"tokens", "shares"}) {
    double before = 0, first = 0;
    for (const double rate : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0}) {
      const double gpus = gpus_of(steady(rate, analyzer, true));
      EXPECT_GE(gpus, before) << analyzer << " at " << rate << " /s";
      before = gpus;
      if (first == 0) first = gpus;
    }
    EXPECT_GT(before, 1.5 * first) << analyzer;  // the load did ask for more
  }
}

// At every moment, and in all. The last moment ends with the run, and is no whole one.
TEST(WvaProperties, ReplicasStayWithinMinAndMax) {
  for (const char* analyzer : {"tokens", "shares"}) {
    for (const double rate : {1.0, 20.0, 200.0}) {
      const auto outside = in_child([&] {
        const Report report = run_scenario(scenario_from(steady(rate, analyzer, true), {}), {});
        double count = 0;
        for (std::size_t i = 0; i + 1 < report.timeline.size(); ++i) {
          const double replicas = report.timeline[i].replicas;
          count += replicas < 2 - 1e-9 || replicas > 8 + 1e-9 ? 1 : 0;
        }
        for (const Report::Pool& pool : report.pools)
          count += pool.fleet->up_max > 4 || pool.fleet->serving_mean < 1 - 1e-9 ? 1 : 0;
        return count;
      });
      EXPECT_EQ(outside, 0.0) << analyzer << " at " << rate << " /s";
    }
  }
}

// What is told of a single variant (its cost) changes nothing, nor whether it is called a pool.
TEST(WvaProperties, ASingleVariantIsAPoolLikeAnyOther) {
  const std::string pool = steady(12.0, "tokens", false);
  std::string whole = pool;
  const auto replace = [](std::string& text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace(whole, "[pool.single]\nrole = \"both\"\n[pool.single.autoscaler]\n", "[autoscaler]\n");
  std::string dear = pool;
  replace(dear, "policy = \"wva\"\n", "policy = \"wva\"\ncost = 77\n");
  const double gpus = gpus_of(pool);
  EXPECT_EQ(gpus_of(whole), gpus);
  EXPECT_EQ(gpus_of(dear), gpus);
}

}  // namespace
}  // namespace foretoken::wva_test

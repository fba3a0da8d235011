// Pools that share GPUs: whatever comes, fails or gives up, no GPU has two replicas (the run checks
// it at every start), each request ends exactly once, and the same seed gives the same run. And a
// ratio that follows the load serves what no fixed ratio of the same GPUs does.

#include <gtest/gtest.h>

#include "tests/properties/lifecycle_laws.hpp"

namespace foretoken::shared_gpus_test {
namespace {

std::string random_autoscaler(RandomCase& pick, const std::string& pool, int most) {
  return fmt::format(
      "[pool.{}.autoscaler]\nmin = 1\nmax = {}\nmetric = \"{}\"\ntarget = {}\n"
      "interval = \"{} ms\"\ncooldown_up = \"0 s\"\ncooldown_down = \"{} ms\"\n",
      pool, most, pick.one_of({"queue", "outstanding", "utilization", "kv"}),
      pick.one_of({0.05, 0.3, 0.9}), 20 + pick.below(100), pick.below(300));
}

std::string random_scenario(std::uint32_t seed) {
  RandomCase pick(seed);
  const bool are_roles = pick.chance(70);
  const int small = pick.one_of({1, 2}), large = small * pick.one_of({1, 1, 2});
  const int most = static_cast<int>(2 + pick.below(3));
  const auto pool = [&](const char* name, const char* role, int tensor, const char* more) {
    return fmt::format("[pool.{}]\nrole = \"{}\"\ntensor_parallel = {}\n{}", name, role, tensor,
                       more);
  };
  std::string text =
      fmt::format(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8x2"
[deployment]
{}
[engine]
batch_tokens_max = {}
sequences_max = {}
kv_blocks = 60
host_time = "2 ms"
[predictor]
name = "roofline"
[front_end]
attempts_max = 3
retry_delay = "{} ms"
[startup]
time = "{} ms"
role_switch = "{} ms"
)",
                  are_roles ? fmt::format("kv_transfer = \"{}\"\nretry = \"{}\"",
                                          pick.one_of({"after_prefill", "layer_wise"}),
                                          pick.one_of({"whole", "failed_side"}))
                            : "router = \"least_outstanding\"",
                  pick.one_of({200, 1024}), pick.one_of({4, 32}), pick.below(2) * 50,
                  100 + pick.below(300), pick.below(100));
  text += pool("a", are_roles ? "prefill" : "both", small, "");
  text += random_autoscaler(pick, "a", most * (large / small));
  text += pool("b", are_roles ? "decode" : "both", large, "shares_gpus_with = \"a\"\n");
  if (!are_roles) text += "model = { name = \"qwen3-0.6b\" }\n";
  text += random_autoscaler(pick, "b", most);
  for (std::uint32_t i = pick.below(5); i > 0; --i) {
    text += fmt::format("[[failures]]\nat = \"{} ms\"\n{}", pick.below(2500),
                        pick.chance(50)
                            ? fmt::format("gpu = {}\n", pick.below(8))
                            : fmt::format("replica = 0\npool = \"{}\"\n", pick.one_of({"a", "b"})));
    text += fmt::format("recovers_after = \"{} ms\"\n", pick.below(800));
  }
  text += fmt::format(
      "[workload]\noutput_tokens = {}\nrequests = {}\narrivals = \"poisson\"\nrate = \"{} /s\"\n"
      "prompt_tokens = {{ distribution = \"uniform\", min = 1, max = 500 }}\n",
      output_tokens, 30 + pick.below(90), pick.one_of({20, 60}));
  if (pick.chance(40)) text += "timeout = \"900 ms\"\n";
  if (!are_roles)
    text +=
        "classes = [{ model = \"llama-3.1-8b\", share = 1 }, { model = \"qwen3-0.6b\", share = 1 "
        "}]\n";
  return text;
}

TEST(SharedGpusProperties, EveryRequestEndsExactlyOnce) {
  expect_laws_hold(random_scenario, 1, 150);
}

TEST(SharedGpusProperties, TheSameSeedGivesTheSameRun) {
  expect_same_seed_same_run(random_scenario, 15);
}

/// examples/elastic_ratio.toml: share of the requests that meet the SLO.
std::optional<double> attainment(const std::vector<std::string>& changes) {
  return in_child([&] {
    const std::string file = std::string(FORETOKEN_SOURCE_DIR) + "/examples/elastic_ratio.toml";
    const Report report = run_scenario(load_scenario(file, parse_changes(changes)), Catalogs());
    FORETOKEN_CHECK(report.fleet->up_mean <= report.gpus, "{} up", report.fleet->up_mean);
    return report.slo.attainment;
  });
}

TEST(SharedGpusProperties, ARatioThatFollowsTheLoadBeatsEveryFixedOne) {
  const auto elastic = attainment({"run.intervals=none"});
  ASSERT_TRUE(elastic.has_value());
  for (int prefill = 1; prefill < 4; ++prefill) {
    const auto fixed = attainment(
        {"run.intervals=none", fmt::format("pool.prefill.replicas={}", prefill),
         fmt::format("pool.decode.replicas={}", 4 - prefill),
         "pool.prefill.autoscaler.interval='1000 s'", "pool.decode.autoscaler.interval='1000 s'"});
    ASSERT_TRUE(fixed.has_value());
    EXPECT_GT(*elastic, *fixed + 0.02) << prefill;
  }
}

}  // namespace
}  // namespace foretoken::shared_gpus_test

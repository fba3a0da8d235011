// Replicas that drain and leave their prefixes to a store: no request and no block is lost, later
// prompts find more, and what is written takes its time.

#include <gtest/gtest.h>

#include "tests/properties/forked_run.hpp"

namespace foretoken::drained_cache_test {
namespace {

// Waves of conversations on one to four replicas; blocks for all, so that nothing is evicted and
// the store has nothing but what drained replicas leave.
constexpr const char* waves = R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h100-sxm-4"
[deployment]
router = "sticky"
[engine]
kv_blocks = 200000
sequences_max = 16
[engine.kv_store]
capacity = "1 TB"
bandwidth = "1000 GB/s"
shared = true
write_on_drain = true
[startup]
time = "2 s"
[autoscaler]
min = 1
max = 4
metric = "outstanding"
target = 6.0
interval = "2 s"
cooldown_down = "4 s"
[predictor]
name = "roofline"
[workload]
arrivals = "poisson"
rate = "5 /s"
duration = "200 s"
diurnal = { period = "80 s", amplitude = 0.95, peak = "20 s" }
prompt_tokens = { distribution = "uniform", min = 300, max = 900 }
output_tokens = { distribution = "uniform", min = 60, max = 300 }
[workload.sessions]
turns = { distribution = "uniform", min = 3, max = 8 }
think_time = { distribution = "exponential", mean = "8 s" }
)";

double of_run(const std::vector<std::string>& changes,
              const std::function<double(const Report&)>& figure) {
  const auto run = [&] {
    const Report report = run_scenario(scenario_from(waves, changes), Catalogs());
    FORETOKEN_CHECK(report.requests.completed == report.requests.arrived, "{} of {} completed",
                    report.requests.completed, report.requests.arrived);
    const Report::KvStore& store = report.kv.store.value();
    // What the store holds was written, and nothing else: no block twice, none from nowhere.
    const double held = store.peak * store.bytes;
    FORETOKEN_CHECK(std::abs(held - store.bytes_written) <= 1e-6 * store.bytes_written + 1e7,
                    "{} held of {} written", held, store.bytes_written);
    FORETOKEN_CHECK(*report.kv.store_hit_rate <= *report.kv.prefix_hit_rate + 1e-12, "{} of {}",
                    *report.kv.store_hit_rate, *report.kv.prefix_hit_rate);
    return figure(report);
  };
  return in_child(run).value();
}

const char* const nothing = "engine.kv_store.write_on_drain=false";

TEST(DrainedCache, LaterPromptsFindWhatADrainedReplicaHeld) {
  const auto written = [](const Report& report) { return report.kv.store->bytes_written; };
  const auto found = [](const Report& report) { return *report.kv.prefix_hit_rate; };
  const auto in_store = [](const Report& report) { return *report.kv.store_hit_rate; };
  EXPECT_EQ(of_run({nothing}, written), 0);
  EXPECT_EQ(of_run({nothing}, in_store), 0);
  EXPECT_GT(of_run({}, written), 1e9);
  EXPECT_GT(of_run({}, in_store), 0.01);
  EXPECT_GT(of_run({}, found), of_run({nothing}, found) + 0.01);
}

// Replicas keep their GPUs until they have written: a slow store costs GPU hours, and one that
// takes longer than the next wave is away is called off where the replica is wanted again.
TEST(DrainedCache, WritingTakesItsTime) {
  const auto hours = [](const Report& report) { return report.fleet->gpu_hours; };
  const double without = of_run({nothing}, hours);
  const double fast = of_run({}, hours);
  const double slow = of_run({"engine.kv_store.bandwidth=1 GB/s"}, hours);
  EXPECT_NEAR(fast / without, 1.0, 0.1);  // dates of all else move too
  EXPECT_GT(slow, 1.1 * fast);
  const auto starts = [](const Report& report) {
    return static_cast<double>(report.fleet->starts);
  };
  EXPECT_LT(of_run({"engine.kv_store.bandwidth=0.02 GB/s"}, starts), of_run({}, starts));
}

}  // namespace
}  // namespace foretoken::drained_cache_test

// One store for KV blocks that pools which compute prompts and pools which decode share: every
// prompt token is found or computed, once; no chunk is kept twice; and what decode replicas have
// left there is found by those that compute the next prompt.

#include <gtest/gtest.h>

#include "tests/properties/counted_sessions.hpp"
#include "tests/properties/forked_run.hpp"

namespace foretoken::shared_store_test {
namespace {

constexpr const char* apart = R"([model]
name = "llama-3.1-8b"
[pool.prefill]
role = "prefill"
[pool.decode]
role = "decode"
[engine.kv_store]
capacity = "1 TB"
bandwidth = "100 GB/s"
shared = true
writes = "computed"
[predictor]
name = "roofline"
)";

/// Blocks of 16. Of the first turn the prefill replica keeps 160
/// tokens and the decode replica stores 208, answer included; the second turn finds the 48 between
/// in the store, the third likewise 304 and 352, and the second session the system prompt's 64: as
/// much as one engine that does both. Each chunk is written by whoever has it first.
TEST(SharedStore, PromptsFindTheAnswersBeforeThem) {
  const Report report = run_scenario(
      scenario_from(std::string(apart) + "[cluster]\nname = \"h200-sxm-1x2\"\n" + counted_sessions),
      Catalogs());
  const double asked = 2 * (164 + 314 + 464);
  EXPECT_DOUBLE_EQ(*report.kv.prefix_hit_rate, (2 * (208 + 352) + 64) / asked);
  EXPECT_DOUBLE_EQ(*report.kv.store_hit_rate, 4 * 48 / asked);
  EXPECT_DOUBLE_EQ(report.kv.store->bytes, 1e12) << "one of them";
  // 513 tokens of each session, the last never computed, in whole blocks; 128 KiB each.
  EXPECT_DOUBLE_EQ(report.kv.store->bytes_written, (2 * 512 - 64) * 131072.0);
}

constexpr const char* many_users = R"([cluster]
name = "h100-sxm-8"
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 300
prompt_tokens = { distribution = "uniform", min = 1, max = 900 }
output_tokens = { distribution = "uniform", min = 1, max = 200 }
[workload.sessions]
turns = { distribution = "uniform", min = 1, max = 6 }
think_time = { distribution = "exponential", mean = "2 s" }
[workload.system_prompts]
count = 3
tokens = { distribution = "uniform", min = 100, max = 500 }
)";

/// Tokens that the replicas which prefill compute.
class PrefillTokens final : public StepObserver {
 public:
  explicit PrefillTokens(std::uint32_t replicas) : replicas_(replicas) {}
  void on_step(ReplicaId replica, int /*stage*/, Seconds /*start*/, Seconds /*duration*/,
               const Batch& batch) override {
    if (replica.value >= replicas_) return;
    for (const BatchEntry& entry : batch.entries) tokens += entry.new_tokens;
  }
  std::int64_t tokens = 0;

 private:
  std::uint32_t replicas_;
};

/// A figure of a run of which the laws hold.
std::optional<double> of_many(const std::vector<std::string>& changes,
                              const std::function<double(const Report&)>& figure) {
  return in_child([&]() -> double {
    PrefillTokens computed(2);
    std::vector<std::string> all = {"pool.prefill.replicas=2", "pool.decode.replicas=2"};
    all.insert(all.end(), changes.begin(), changes.end());
    const Report report = run_scenario(scenario_from(std::string(apart) + many_users, all),
                                       Catalogs(), {.observer = &computed});
    FORETOKEN_CHECK(report.requests.completed == 300, "{} of 300", report.requests.completed);
    double asked = 0;
    for (const RequestRow& row : report.rows) {
      FORETOKEN_CHECK(row.preemptions == 0, "request {} was preempted", row.id);
      asked += static_cast<double>(row.prompt_tokens);
    }
    const double found = *report.kv.prefix_hit_rate * asked;
    FORETOKEN_CHECK(std::abs(found + static_cast<double>(computed.tokens) - asked) < 1e-6 * asked,
                    "{} found and {} computed of {}", found, computed.tokens, asked);
    return figure(report);
  });
}

TEST(SharedStore, EveryTokenIsFoundOrComputedOnce) {
  const auto held_of_written = [](const Report& report) {
    const Report::KvStore& store = *report.kv.store;
    return store.peak * store.bytes / store.bytes_written;
  };
  const auto in_store = [](const Report& report) { return *report.kv.store_hit_rate; };
  // Room for all: what was written is there, no chunk twice. A last block is rounded off.
  EXPECT_NEAR(of_many({}, held_of_written).value(), 1.0, 1e-6);
  EXPECT_GT(of_many({}, in_store).value(), 0.1);
  EXPECT_GT(of_many({"engine.kv_store.writes=evicted", "engine.kv_blocks=2000"}, in_store).value(),
            0.01);
}

/// Other ranks, another format or other settings: each pool has its own.
TEST(SharedStore, PoolsThatCannotReadEachOthersBlocksHaveTheirOwn) {
  const auto capacity = [](const Report& report) { return report.kv.store->bytes; };
  EXPECT_EQ(of_many({}, capacity), 1e12);
  EXPECT_EQ(of_many({"pool.decode.tensor_parallel=2"}, capacity), 2e12);
  EXPECT_EQ(
      of_many({"pool.decode.engine.block_tokens=32", "workload.prefix_block_tokens=32"}, capacity),
      2e12);
  const std::string alike = R"(pool.decode.engine.kv_store={ capacity = "1 TB", shared = true, )"
                            R"(writes = "computed", bandwidth = )";
  EXPECT_EQ(of_many({alike + "\"100 GB/s\" }"}, capacity), 1e12) << "wherever it is written";
  EXPECT_EQ(of_many({alike + "\"50 GB/s\" }"}, capacity), 2e12);
  EXPECT_EQ(of_many({"engine.kv_store.shared=false"}, capacity), 4e12);
}

}  // namespace
}  // namespace foretoken::shared_store_test

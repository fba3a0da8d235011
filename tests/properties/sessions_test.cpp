// Prefix reuse in conversations, against counting by hand and against a plain account of blocks.

#include <gtest/gtest.h>

#include <set>

#include "tests/properties/counted_sessions.hpp"
#include "tests/properties/run_text.hpp"

namespace foretoken {
namespace {

const std::string one_user = std::string(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[predictor]
name = "roofline"
)") + counted_sessions;

TEST(SessionProperties, PrefixReuseIsWhatCountingByHandSays) {
  // Blocks of 16. The first turn's prompt has 64 + 100 = 164 tokens; with its answer, of which the
  // last token is never computed, 213 tokens are in the cache: 13 whole blocks, 208 tokens. The
  // second prompt has 164 + 50 + 100 = 314 and finds 208; 363 are then computed, 352 in whole
  // blocks. The third has 464 and finds 352. The second session finds the system prompt's 64 first.
  const Report report = run_scenario(scenario_from(one_user), Catalogs());
  const double asked = 2 * (164 + 314 + 464);
  const double found = 2 * (208 + 352) + 64;
  EXPECT_DOUBLE_EQ(*report.kv.prefix_hit_rate, found / asked);
  ASSERT_EQ(report.rows.size(), 6U);
  EXPECT_EQ(report.rows[2].prompt_tokens, 464);
  EXPECT_NEAR(report.rows[1].arrival_s, *report.rows[0].finished_s + 1.0, 1e-9);
}

TEST(SessionProperties, WithoutPrefixCachingNothingIsFound) {
  const Report report =
      run_scenario(scenario_from(one_user, {"engine.prefix_caching=false"}), Catalogs());
  EXPECT_FALSE(report.kv.prefix_hit_rate.has_value());
  EXPECT_EQ(report.requests.completed, 6);
}

TEST(SessionProperties, RandomSessionsFindWhatAPlainSetOfBlocksFinds) {
  const Scenario scenario = scenario_from(
      one_user,
      {"workload.requests=300", "engine.block_tokens=32", "engine.batch_tokens_max=200000",
       "workload.prompt_tokens={distribution='uniform',min=1,max=400}",
       "workload.output_tokens={distribution='uniform',min=1,max=60}",
       "workload.sessions.turns={distribution='uniform',min=1,max=9}",
       "workload.system_prompts={count=4,tokens={distribution='uniform',min=10,max=900}}"});
  // The same requests once more: what is said does not depend on when answers come.
  const auto source = scenario.workload->start(RandomStreams(scenario.run.seed));
  std::set<std::uint64_t> cache;
  std::int64_t asked = 0, found = 0;
  double now = 0;
  std::optional<Request> request = source->next();
  for (; request; now += 1) {
    ASSERT_EQ(request->prefix_block_tokens, 32);
    asked += request->prompt_tokens;
    const auto findable = static_cast<std::size_t>((request->prompt_tokens - 1) / 32);
    for (std::size_t i = 0; i < findable && cache.contains(request->prefix_hashes[i]); ++i) {
      found += 32;
    }
    const std::int64_t computed = request->prompt_tokens + request->output_tokens - 1;
    for (std::int64_t i = 0; i < computed / 32; ++i) {
      cache.insert(request->prefix_hashes[static_cast<std::size_t>(i)]);
    }
    source->on_finished(request->id, Seconds(now));
    request = source->next_follow_up();
    if (!request) request = source->next();
  }
  const Report report = run_scenario(scenario, Catalogs());
  EXPECT_EQ(report.requests.completed, 300);
  EXPECT_DOUBLE_EQ(*report.kv.prefix_hit_rate,
                   static_cast<double>(found) / static_cast<double>(asked));
}

}  // namespace
}  // namespace foretoken

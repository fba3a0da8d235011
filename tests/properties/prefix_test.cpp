// Laws of prefix caching: what is found was computed from the same tokens; nothing stays in use
// when nobody is left; and the share found is what a plain cache, written without any of the
// engine's tricks, finds in the same order of requests.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <map>
#include <random>
#include <set>

#include "sim/serving/kv_cache.hpp"
#include "tests/properties/prompts.hpp"
#include "tests/properties/run_text.hpp"

namespace foretoken {
namespace {

TEST(PrefixProperties, WhatIsFoundWasComputedFromTheSameTokensAndNothingLeaks) {
  std::mt19937_64 random(7);
  KvCache cache(40, 16, true);
  std::vector<Prompt> prompts;
  std::set<std::vector<int>> computed;  // beginnings that some sequence has computed
  struct Running {
    Sequence sequence;
    Prompt prompt;
    std::int64_t held = 0;
  };
  std::list<Running> running;
  std::int64_t found = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 3 != 0 || running.empty()) {
      prompts.push_back(random_prompt(random, prompts));
      if (prompts.size() > 50) prompts.erase(prompts.begin());
      Running& next = running.emplace_back(sequence_of(prompts.back()), prompts.back(), 0);
      const PrefixMatch match = cache.match_prefix(next.sequence);
      for (std::size_t chunks = 1; chunks <= match.chunks; ++chunks) {
        ASSERT_TRUE(computed.contains(next.prompt.beginning(chunks)));
      }
      ASSERT_LT(match.tokens, next.sequence.prompt_tokens);
      const std::int64_t tokens = match.tokens + 1 + static_cast<std::int64_t>(random() % 40);
      next.held = std::clamp<std::int64_t>(tokens, match.tokens + 1, next.sequence.prompt_tokens);
      found += match.tokens;
      if (!cache.start(next.sequence, match, next.held)) {
        running.pop_back();
        continue;
      }
    } else {
      auto chosen =
          std::next(running.begin(), static_cast<std::ptrdiff_t>(random() % running.size()));
      const std::int64_t more = chosen->held + 1 + static_cast<std::int64_t>(random() % 64);
      const std::int64_t tokens = std::min(more, chosen->sequence.prompt_tokens);
      if (tokens == chosen->held || !cache.grow(chosen->sequence, tokens)) {
        cache.release(chosen->sequence);
        running.erase(chosen);
        continue;
      }
      chosen->held = tokens;
    }
    for (const Running& one : running) {
      const auto whole = static_cast<std::size_t>(one.held / chunk_tokens);
      for (std::size_t chunks = 1; chunks <= whole; ++chunks) {
        computed.insert(one.prompt.beginning(chunks));
      }
      ASSERT_EQ(one.sequence.blocks, cache.blocks_for(one.held));
    }
    ASSERT_GE(cache.free(), 0);
  }
  EXPECT_GT(found, 5'000) << "hardly anything was found, so this proves little";
  for (Running& one : running) cache.release(one.sequence);
  EXPECT_EQ(cache.used(), 0);
}

/// Least recently used, one request after the other, nothing but lists and maps.
class PlainCache {
 public:
  explicit PlainCache(std::size_t chunks_max) : chunks_max_(chunks_max) {}

  /// Chunks of a request's prompt that are there; then the request uses all its whole chunks.
  std::size_t serve(const std::vector<std::uint64_t>& hashes, std::size_t findable) {
    std::size_t hits = 0;
    while (hits < std::min(findable, hashes.size()) && contains(hashes[hits])) ++hits;
    for (auto hash = hashes.rbegin(); hash != hashes.rend(); ++hash) {
      order_.remove(*hash);
      order_.push_back(*hash);
    }
    while (order_.size() > chunks_max_) order_.pop_front();
    return hits;
  }

 private:
  [[nodiscard]] bool contains(std::uint64_t hash) const {
    return std::ranges::find(order_, hash) != order_.end();
  }
  std::size_t chunks_max_;
  std::list<std::uint64_t> order_;  // used longest ago in front
};

TEST(PrefixProperties, OneAfterTheOtherItFindsWhatAPlainCacheFinds) {
  std::mt19937_64 random(11);
  std::vector<Prompt> prompts;
  KvCache cache(64, chunk_tokens, true);
  // The prompt's last, partly filled block is taken for as long as the request runs.
  PlainCache plain(64);
  std::int64_t found = 0, found_plainly = 0;
  for (int i = 0; i < 3'000; ++i) {
    Prompt prompt = random_prompt(random, prompts);
    prompt.tokens.resize(prompt.tokens.size() / chunk_tokens * chunk_tokens + chunk_tokens, 2);
    if (prompt.tokens.size() > 20 * chunk_tokens) continue;
    prompts.push_back(prompt);
    if (prompts.size() > 30) prompts.erase(prompts.begin());
    Sequence sequence = sequence_of(prompt);
    const PrefixMatch match = cache.match_prefix(sequence);
    ASSERT_TRUE(cache.start(sequence, match, sequence.prompt_tokens));
    cache.release(sequence);
    found += match.tokens;
    const std::vector<std::uint64_t> hashes = prompt.hashes();
    found_plainly +=
        static_cast<std::int64_t>(plain.serve(hashes, hashes.size() - 1)) * chunk_tokens;
  }
  EXPECT_EQ(found, found_plainly);
  EXPECT_GT(found, 10'000);
}

TEST(PrefixProperties, ATraceServedSlowlyHitsWhatAnEndlessCacheHits) {
  const char* folder = std::getenv("FORETOKEN_DATA");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_DATA is not set";
  // So slowly that every request is alone, with room for all prompts.
  const std::string trace = std::string(folder) + "/traces/mooncake_conversation.jsonl.gz";
  const Scenario scenario = scenario_from(R"(
[model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-1"
[engine]
kv_blocks = 20000000
[workload]
trace = ")" + trace + R"("
requests = 2000
rate_scale = 0.001
output_tokens = 1
[predictor]
name = "roofline"
)");
  std::set<std::uint64_t> seen;
  std::int64_t asked = 0, found = 0;
  const auto source = scenario.workload->start(RandomStreams(1));
  while (const auto request = source->next()) {
    asked += request->prompt_tokens;
    const std::int64_t whole = request->prompt_tokens / request->prefix_block_tokens;
    const std::int64_t findable = (request->prompt_tokens - 1) / request->prefix_block_tokens;
    bool still = true;
    for (std::int64_t i = 0; i < whole; ++i) {
      const std::uint64_t hash = request->prefix_hashes[static_cast<std::size_t>(i)];
      still = still && i < findable && seen.contains(hash);
      if (still) found += request->prefix_block_tokens;
    }
    for (std::int64_t i = 0; i < whole; ++i) {
      seen.insert(request->prefix_hashes[static_cast<std::size_t>(i)]);
    }
  }
  const Report report = run_scenario(scenario, Catalogs());
  ASSERT_TRUE(report.kv.prefix_hit_rate.has_value());
  EXPECT_DOUBLE_EQ(*report.kv.prefix_hit_rate,
                   static_cast<double>(found) / static_cast<double>(asked));
  EXPECT_GT(*report.kv.prefix_hit_rate, 0.05);
}

}  // namespace
}  // namespace foretoken

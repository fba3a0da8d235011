// Laws of KV blocks in two or three tiers, under random operations on prompts with real tokens:
// what is found was computed from the same tokens, wherever it lies; the host never holds more than
// it has room for; blocks are neither lost nor made; nothing stays in use when nobody is left. A
// reference keeps the contents of all tiers as tokens.

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <random>
#include <set>

#include "sim/serving/kv_cache.hpp"
#include "tests/properties/prompts.hpp"

namespace foretoken {
namespace {

struct Running {
  Sequence sequence;
  Prompt prompt;
  std::int64_t held = 0;
  bool waits = false;  // preempted
};

/// What is known of each hash: the tokens of the beginning it was made from.
class Contents {
 public:
  void computed(const Prompt& prompt, std::int64_t tokens) {
    const std::vector<std::uint64_t> hashes = prompt.hashes();
    for (std::size_t i = 0; i < static_cast<std::size_t>(tokens / chunk_tokens); ++i) {
      tokens_of_.try_emplace(hashes[i], prompt.beginning(i + 1));
    }
  }
  [[nodiscard]] bool is(std::uint64_t hash, const std::vector<int>& tokens) const {
    const auto known = tokens_of_.find(hash);
    return known != tokens_of_.end() && known->second == tokens;
  }

 private:
  std::map<std::uint64_t, std::vector<int>> tokens_of_;
};

/// `store` may be null, and others' blocks may be in it.
void run_random_operations(std::uint64_t seed, HostKv host, KvStore* store = nullptr) {
  std::mt19937_64 random(seed);
  constexpr std::int64_t blocks = 40;
  KvCache cache(blocks, 16, true, host, {}, store);
  Contents contents;
  std::vector<Prompt> prompts;
  std::list<Running> all;
  std::int64_t found_on_host = 0, found_in_store = 0, came_back = 0;
  KvCopies copied;

  const auto start = [&](Running& one) {
    const PrefixMatch match = cache.match_prefix(one.sequence);
    const std::vector<std::uint64_t> hashes = one.prompt.hashes();
    for (std::size_t i = 0; i < match.chunks; ++i) {
      EXPECT_TRUE(contents.is(hashes[i], one.prompt.beginning(i + 1)))
          << "a chunk with other tokens, or with none";
    }
    const std::int64_t swapped = one.sequence.swapped_blocks;
    if (swapped > 0) {
      EXPECT_EQ(match.tokens, one.held) << "a swapped sequence has all it had";
    }
    EXPECT_LE(match.tokens, one.sequence.known_tokens() - (swapped > 0 ? 0 : 1));
    const std::int64_t more = 1 + static_cast<std::int64_t>(random() % 40);
    const std::int64_t tokens =
        std::min(std::max(match.tokens, std::int64_t{0}) + more, one.sequence.prompt_tokens);
    const std::int64_t host_used = cache.host().used(), free = cache.free();
    if (!cache.start(one.sequence, match, tokens)) {
      EXPECT_EQ(cache.host().used(), host_used) << "a failed start changed something";
      EXPECT_EQ(cache.free(), free);
      return false;
    }
    EXPECT_EQ(one.sequence.swapped_blocks, 0);
    found_on_host += match.host_tokens;
    found_in_store += match.store_tokens;
    came_back += swapped > 0 ? 1 : 0;
    one.held = one.sequence.computed = tokens;
    one.waits = false;
    contents.computed(one.prompt, tokens);
    return true;
  };

  for (int step = 0; step < 6'000; ++step) {
    const std::uint64_t what = random() % 8;
    const auto some = [&] {
      return std::next(all.begin(), static_cast<std::ptrdiff_t>(random() % all.size()));
    };
    if (all.empty() || what < 3) {
      prompts.push_back(random_prompt(random, prompts));
      if (prompts.size() > 40) prompts.erase(prompts.begin());
      all.push_back({sequence_of(prompts.back()), prompts.back()});
      if (!start(all.back())) all.pop_back();
    } else if (const auto one = some(); one->waits) {
      if (what == 3) {  // given up
        cache.release(one->sequence);
        all.erase(one);
      } else {
        start(*one);
      }
    } else if (what == 3) {
      cache.preempt(one->sequence);
      one->waits = true;
      if (one->sequence.swapped_blocks == 0) one->held = 0;
    } else {
      const std::int64_t tokens = std::min(one->held + 1 + static_cast<std::int64_t>(random() % 64),
                                           one->sequence.prompt_tokens);
      if (tokens == one->held || !cache.grow(one->sequence, tokens)) {
        cache.release(one->sequence);
        all.erase(one);
      } else {
        one->held = one->sequence.computed = tokens;
        contents.computed(one->prompt, tokens);
      }
    }
    std::int64_t swapped = 0, held = 0;
    for (const Running& one : all) {
      swapped += one.sequence.swapped_blocks;
      held += one.sequence.blocks;
      ASSERT_EQ(one.sequence.blocks, one.waits ? 0 : cache.blocks_for(one.held));
    }
    ASSERT_EQ(cache.host().swapped(), swapped);
    ASSERT_LE(cache.host().used(), host.blocks);
    ASSERT_GE(cache.host().used(), swapped);
    ASSERT_LE(cache.used(), held) << "sequences share blocks, they never use more than they hold";
    ASSERT_GE(cache.free(), 0);
    if (store != nullptr) {
      ASSERT_LE(store->used(), store->blocks());
    }
    copied += cache.take_copies();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
  const HostTotals totals = cache.host_totals();
  EXPECT_EQ(totals.copies.to_host, copied.to_host);
  EXPECT_EQ(totals.copies.from_host, copied.from_host);
  EXPECT_EQ(totals.copies.to_store, copied.to_store);
  EXPECT_EQ(totals.copies.from_store, copied.from_store);
  EXPECT_EQ(16 * copied.from_store, found_in_store) << "what is found there is read once";
  EXPECT_LE(totals.used_peak, host.blocks);
  if (host.blocks >= 50) {
    EXPECT_GT(found_on_host, 1'000) << "hardly anything was found, so this proves little";
    EXPECT_GT(copied.from_host, 100);
  }
  if (store != nullptr && store->blocks() >= 100) {
    EXPECT_GT(found_in_store, 1'000) << "hardly anything was found, so this proves little";
  }
  if (host.swaps && host.blocks >= 50) {
    EXPECT_GT(came_back, 50);
  }
  for (Running& one : all) cache.release(one.sequence);
  EXPECT_EQ(cache.used(), 0);
  EXPECT_EQ(cache.free(), blocks);
  EXPECT_EQ(cache.host().swapped(), 0);
}

TEST(HostKvProperties, PrefixesInTwoTiers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    run_random_operations(seed, {.blocks = static_cast<std::int64_t>(10 * seed)});
    if (HasFailure()) return;
  }
}

KvStoreSettings store_of(StoreWrites writes) {
  KvStoreSettings settings;
  settings.bandwidth = BytesPerSecond(1e9);
  settings.writes = writes;
  return settings;
}

TEST(HostKvProperties, PrefixesInThreeTiers) {
  for (const StoreWrites writes : {StoreWrites::evicted, StoreWrites::computed}) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE(seed);
      KvStore store(store_of(writes), static_cast<std::int64_t>(20 * seed));
      run_random_operations(
          seed, {.blocks = static_cast<std::int64_t>(seed % 3 * 10), .swaps = true}, &store);
      if (HasFailure()) return;
    }
  }
}

TEST(HostKvProperties, PrefixesAndSwappedSequencesShareTheHost) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    run_random_operations(seed, {.blocks = static_cast<std::int64_t>(5 * seed), .swaps = true});
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace foretoken

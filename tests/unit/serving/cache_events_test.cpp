// What caches tell of their prefixes, when a router hears of it, and that it is the truth.

#include "sim/serving/cache_events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/serving/kv_cache.hpp"
#include "tests/unit/serving/fleet_fixture.hpp"

namespace foretoken::cache_events_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Replica 0 whatever is asked; keeps what it is told between two questions.
class Listener final : public Router {
 public:
  struct Heard {
    std::vector<std::uint64_t> kept, gone;
  };
  Listener(Seconds delay, std::vector<Heard>& heard) : delay_(delay), heard_(heard) {}
  ReplicaId choose(const Request& /*request*/, std::span<const ReplicaStatus> replicas) override {
    heard_.push_back(std::exchange(since_, {}));
    return replicas.front().id;
  }
  [[nodiscard]] std::optional<Seconds> event_delay() const override { return delay_; }
  void on_prefix_kept(ReplicaId replica, std::uint64_t hash) override {
    EXPECT_EQ(replica.value, 0U);
    since_.kept.push_back(hash);
  }
  void on_prefix_gone(ReplicaId /*replica*/, std::uint64_t hash) override {
    since_.gone.push_back(hash);
  }

 private:
  Seconds delay_;
  std::vector<Heard>& heard_;
  Heard since_;
};

class CacheEventsTest : public FleetTest {
 protected:
  /// 48 of the 50 tokens are whole chunks.
  void add_prompt(double arrival_steps, std::vector<std::uint64_t> hashes) {
    Request& request = add(arrival_steps, 50, 1);
    request.prefix_block_tokens = 16;
    request.prefix_hashes = std::move(hashes);
  }
  std::vector<Listener::Heard> heard;
};

TEST_F(CacheEventsTest, ReachTheRouterAfterTheDelay) {
  add_prompt(0, {1, 2, 3});
  add_prompt(2, {1, 2, 4});  // one step after the first has ended: 4 takes a block more
  add_prompt(3.5, {7, 8, 9});
  add_prompt(9, {1, 2, 3});
  blocks = 5;  // the third prompt needs 4 of them: 3, 2 and 4 or 1 have to go
  build(2, {}, {}, std::make_unique<Listener>(Seconds(steps(3)), heard));
  run();
  ASSERT_EQ(heard.size(), 4U);
  EXPECT_THAT(heard[0].kept, IsEmpty());
  EXPECT_THAT(heard[1].kept, IsEmpty()) << "kept at 0, known at 3";
  EXPECT_THAT(heard[2].kept, ElementsAre(1, 2, 3));
  EXPECT_THAT(heard[2].gone, IsEmpty());
  EXPECT_THAT(heard[3].kept, ElementsAre(4, 7, 8, 9));
  EXPECT_THAT(heard[3].gone, ElementsAre(3, 4, 2));
}

TEST_F(CacheEventsTest, OfAReplicaThatFailedNeverArrive) {
  add_prompt(0, {1, 2, 3});
  add_prompt(6, {1, 2, 3});
  add_prompt(8, {});
  build(1, {}, {}, std::make_unique<Listener>(Seconds(steps(1.5)), heard));
  at(1.25, [&] { fleet->fail(0); });
  at(1.5, [&] { fleet->repair(0); });
  run();
  ASSERT_EQ(heard.size(), 3U);
  EXPECT_THAT(heard[1].kept, IsEmpty());
  EXPECT_THAT(heard[2].kept, ElementsAre(1, 2, 3)) << "the caches that came after tell as well";
}

/// Believes what it is told.
class Mirror final : public PrefixListener {
 public:
  void on_prefix_kept(std::uint64_t hash) override {
    EXPECT_TRUE(kept.insert(hash).second) << hash << " is kept twice";
  }
  void on_prefix_gone(std::uint64_t hash) override {
    EXPECT_EQ(kept.erase(hash), 1U) << hash << " goes, but was not there";
  }
  std::set<std::uint64_t> kept;
};

Sequence prompt_of(std::vector<std::uint64_t> hashes) {
  Sequence sequence;
  sequence.prefix_chunk_tokens = 32;
  sequence.prompt_tokens = 32 * std::ssize(hashes) + 1;
  sequence.output_tokens = 1;
  sequence.prefix_hashes = std::move(hashes);
  return sequence;
}

/// Prompts of a few chunks each, begun, ended and preempted at random in caches with and without
/// what stands behind them. Hashes of one chunk are not found under another's: paths of a tree.
TEST(CacheEvents, TellWhatTheCacheFindsAndNothingElse) {
  for (const int host_blocks : {0, 6, 40}) {
    for (const bool swaps : {false, true}) {
      KvStoreSettings settings;
      settings.bandwidth = BytesPerSecond(1e9);
      KvStore store(settings, 12);
      KvCache cache(24, 16, true, {.blocks = host_blocks, .swaps = swaps}, {}, &store);
      Mirror mirror;
      cache.tell(&mirror);
      RandomStream random = RandomStreams(7).stream("test");
      const auto draw = [&](std::size_t count) {
        return static_cast<std::size_t>(uniform(random) * static_cast<double>(count));
      };
      std::vector<Sequence> running;
      std::size_t lost = 0;
      for (int i = 0; i < 3000; ++i) {
        const std::set<std::uint64_t> before = mirror.kept;
        const std::size_t what = draw(10);
        if (what < 5) {
          std::vector<std::uint64_t> hashes;
          for (std::uint64_t node = 1; hashes.size() < 1 + draw(4);) {
            node = 3 * node + draw(3);
            hashes.push_back(node);
          }
          Sequence next = prompt_of(std::move(hashes));
          if (cache.start(next, cache.match_prefix(next), next.prompt_tokens)) {
            next.computed = next.prompt_tokens;
            running.push_back(std::move(next));
          }
        } else if (!running.empty()) {
          const std::size_t which = draw(running.size());
          if (what < 9) {
            cache.release(running[which]);
          } else {
            cache.preempt(running[which]);
            cache.release(running[which]);
          }
          running.erase(running.begin() + static_cast<std::ptrdiff_t>(which));
        }
        for (const std::uint64_t hash : before) lost += mirror.kept.contains(hash) ? 0 : 1;
        if (i % 10 != 0) continue;
        // Every path of four chunks: what is found without the store is what was told.
        for (std::uint64_t leaf = 81; leaf < 162; ++leaf) {
          const Sequence probe = prompt_of({leaf / 27, leaf / 9, leaf / 3, leaf});
          const PrefixMatch match = cache.match_prefix(probe);
          std::size_t told = 0, found = 0;
          for (const std::uint64_t hash : probe.prefix_hashes) told += mirror.kept.contains(hash);
          for (const std::uint64_t hash : probe.prefix_hashes) {
            const PrefixMatch one = cache.match_prefix(prompt_of({hash}));
            found += one.tokens > one.store_tokens ? 1U : 0U;
          }
          ASSERT_EQ(told, found) << "after " << i;
          ASSERT_LE(static_cast<std::size_t>((match.tokens - match.store_tokens) / 32), told);
        }
      }
      EXPECT_GT(lost, 100U);
      for (Sequence& sequence : running) cache.release(sequence);
    }
  }
}

}  // namespace
}  // namespace foretoken::cache_events_test

// Every built-in router on the same replicas.

#include "sim/serving/router.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

std::unique_ptr<Router> make(const char* name, const std::string& text = "",
                             std::uint64_t seed = 1) {
  Diagnostics diagnostics;
  const Value table = parse_toml(text, "options");
  TableReader options(table, diagnostics, "deployment");
  auto router = router_catalog().find(name, {}).make(options, RandomStreams(seed));
  diagnostics.throw_if_any();
  return router;
}

/// Replicas 0, 1, … with so many requests each.
std::vector<ReplicaStatus> with_outstanding(const std::vector<std::int64_t>& outstanding) {
  std::vector<ReplicaStatus> replicas;
  for (const std::int64_t requests : outstanding) {
    replicas.push_back({{static_cast<std::uint32_t>(replicas.size())}, requests});
  }
  return replicas;
}

/// A prompt of whole chunks of 16 tokens.
Request prompt_of(std::vector<std::uint64_t> hashes) {
  Request request;
  request.prompt_tokens = 16 * std::ssize(hashes);
  request.prefix_block_tokens = 16;
  request.prefix_hashes = std::move(hashes);
  return request;
}

Request of_session(std::uint64_t session) {
  Request request;
  request.session = session;
  return request;
}

TEST(Router, RoundRobinTakesTurns) {
  const auto router = make("round_robin");
  const std::vector<ReplicaStatus> replicas = {{{0}, 9}, {{1}, 0}, {{2}, 5}};
  for (const std::uint32_t expected : {0U, 1U, 2U, 0U, 1U}) {
    EXPECT_EQ(router->choose({}, replicas).value, expected);
  }
}

TEST(Router, LeastOutstandingTakesTheLowestIdAmongEquals) {
  const auto router = make("least_outstanding");
  EXPECT_EQ(router->choose({}, std::vector<ReplicaStatus>{{{0}, 3}, {{1}, 1}, {{2}, 1}}).value, 1U);
  EXPECT_EQ(router->choose({}, std::vector<ReplicaStatus>{{{0}, 0}, {{1}, 0}}).value, 0U);
}

TEST(Router, AdapterAffinityGoesWhereTheAdapterIs) {
  const auto router = make("adapter_affinity", "imbalance_max = 4");
  std::vector<ReplicaStatus> replicas = with_outstanding({3, 1, 2});
  replicas[0].adapters = {7};
  replicas[2].adapters = {7, 9};
  Request request;
  EXPECT_EQ(router->choose(request, replicas).value, 1U) << "the base model is everywhere";
  request.adapter = 7;
  EXPECT_EQ(router->choose(request, replicas).value, 2U) << "the emptier of two";
  request.adapter = 9;
  replicas[2].outstanding = 5;
  EXPECT_EQ(router->choose(request, replicas).value, 2U);
  replicas[2].outstanding = 6;
  EXPECT_EQ(router->choose(request, replicas).value, 1U) << "too far behind the emptiest";
  // What was sent there is on its way, though the engine does not say so yet.
  replicas = with_outstanding({0, 3, 1});
  EXPECT_EQ(router->choose(request, replicas).value, 1U);
  router->forget({1});
  EXPECT_EQ(router->choose(request, replicas).value, 0U);
}

TEST(Router, KvLoadTakesTheShortestQueueThenTheEmptiestCache) {
  const auto router = make("kv_load");
  std::vector<ReplicaStatus> replicas = {
      {{0}, 1, 0, 1, 0.75}, {{1}, 9, 0, 9, 0.25}, {{2}, 3, 0, 3, 0.5}};
  EXPECT_EQ(router->choose({}, replicas).value, 1U);
  replicas[1].waiting = 1;
  EXPECT_EQ(router->choose({}, replicas).value, 2U);
  replicas[0].kv_used = 0.5;
  EXPECT_EQ(router->choose({}, replicas).value, 0U);  // fewer are outstanding
}

TEST(Router, PowerOfTwoNeverTakesTheBusiestAndEveryPairComesUp) {
  const auto router = make("power_of_two");
  // Of the three pairs {0,1}, {0,2}, {1,2} two choose replica 0 and one replica 1.
  const auto replicas = with_outstanding({1, 2, 3});
  std::map<std::uint32_t, int> chosen;
  for (int i = 0; i < 3000; ++i) ++chosen[router->choose({}, replicas).value];
  EXPECT_EQ(chosen.count(2), 0U);
  // A standard deviation is sqrt(3000 * 2/3 * 1/3) = 26.
  EXPECT_NEAR(chosen[0], 2000, 4 * 26);
}

TEST(Router, PowerOfTwoDependsOnTheSeedAlone) {
  const auto replicas = with_outstanding({0, 0, 0, 0, 0, 0, 0, 0});
  const auto choices = [&](std::uint64_t seed) {
    const auto router = make("power_of_two", "", seed);
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < 20; ++i) ids.push_back(router->choose({}, replicas).value);
    return ids;
  };
  EXPECT_EQ(choices(1), choices(1));
  EXPECT_NE(choices(1), choices(2));
  EXPECT_EQ(make("power_of_two")->choose({}, with_outstanding({7})).value, 0U);
}

TEST(Router, PrefixAffinityFollowsThePrefixItSent) {
  const auto router = make("prefix_affinity", "match_min = 0.5");
  const auto idle = with_outstanding({5, 0, 5});
  EXPECT_EQ(router->choose(prompt_of({1, 2, 3, 4}), idle).value, 1U);
  // Equal hashes mean equal prefixes, so no number stands for two.
  // Replica 1 knows three chunks of four, then two of four, then one: too little.
  EXPECT_EQ(router->choose(prompt_of({1, 2, 3, 9}), with_outstanding({0, 5, 5})).value, 1U);
  EXPECT_EQ(router->choose(prompt_of({1, 2, 7, 8}), with_outstanding({0, 5, 5})).value, 1U);
  EXPECT_EQ(router->choose(prompt_of({1, 17, 18, 19}), with_outstanding({0, 5, 5})).value, 0U);
  // A chunk counts only behind all of those before it.
  EXPECT_EQ(router->choose(prompt_of({6, 2, 3, 4}), with_outstanding({5, 5, 0})).value, 2U);
  // Now 0 knows {1, 17, 18, 19} and 1 knows {1, 2, ...}: the longer match wins.
  EXPECT_EQ(router->choose(prompt_of({1, 17, 18}), with_outstanding({9, 0, 0})).value, 0U);
  EXPECT_EQ(router->choose(prompt_of({1, 2, 3}), with_outstanding({0, 9, 0})).value, 1U);
}

TEST(Router, PrefixAffinityPutsAnEvenLoadFirst) {
  const auto router = make("prefix_affinity", "balance_abs = 10\nbalance_rel = 2.0");
  ASSERT_EQ(router->choose(prompt_of({1, 2}), with_outstanding({0, 1})).value, 0U);
  EXPECT_EQ(router->choose(prompt_of({1, 2}), with_outstanding({12, 2})).value, 0U);   // 10 more
  EXPECT_EQ(router->choose(prompt_of({1, 2}), with_outstanding({40, 20})).value, 0U);  // twice
  EXPECT_EQ(router->choose(prompt_of({1, 2}), with_outstanding({41, 20})).value, 1U);
  // It was sent there, so both know it now, and the one with fewer requests is taken.
  EXPECT_EQ(router->choose(prompt_of({1, 2}), with_outstanding({3, 2})).value, 1U);
}

TEST(Router, PrefixAffinityForgetsTheOldestAndWhatFailed) {
  const auto router = make("prefix_affinity", "index_chunks_max = 4");
  ASSERT_EQ(router->choose(prompt_of({1, 2}), with_outstanding({0, 1})).value, 0U);
  ASSERT_EQ(router->choose(prompt_of({3, 4, 5}), with_outstanding({0, 1})).value, 0U);
  // Five chunks were sent to 0, four are kept: the last of the older prompt is gone.
  ASSERT_EQ(router->choose(prompt_of({1}), with_outstanding({1, 0})).value, 0U);
  EXPECT_EQ(router->choose(prompt_of({3, 4, 5}), with_outstanding({1, 0})).value, 0U);
  router->forget({0});
  EXPECT_EQ(router->choose(prompt_of({3, 4, 5}), with_outstanding({1, 0})).value, 1U);
}

TEST(Router, PrefixAffinityWithoutPrefixesTakesTheIdlest) {
  const auto router = make("prefix_affinity");
  EXPECT_EQ(router->choose({}, with_outstanding({2, 1, 1})).value, 1U);
  Request part = prompt_of({1});
  part.prompt_tokens = 15;  // no whole chunk
  EXPECT_EQ(router->choose(part, with_outstanding({2, 1, 1})).value, 1U);
  EXPECT_EQ(router->choose(part, with_outstanding({0, 1, 1})).value, 0U);
}

TEST(Router, StickyKeepsASessionWhereItBegan) {
  const auto router = make("sticky", "imbalance_max = 3");
  EXPECT_EQ(router->choose(of_session(7), with_outstanding({1, 0, 0})).value, 1U);
  EXPECT_EQ(router->choose(of_session(8), with_outstanding({1, 1, 0})).value, 2U);
  EXPECT_EQ(router->choose(of_session(7), with_outstanding({0, 3, 0})).value, 1U);
  // Four more than the idlest: the session moves, and stays there.
  EXPECT_EQ(router->choose(of_session(7), with_outstanding({0, 4, 0})).value, 0U);
  EXPECT_EQ(router->choose(of_session(7), with_outstanding({2, 0, 0})).value, 0U);
  // Its replica takes no requests: elsewhere.
  const std::vector<ReplicaStatus> without_0 = {{{1}, 5}, {{2}, 4}};
  EXPECT_EQ(router->choose(of_session(7), without_0).value, 2U);
  EXPECT_EQ(router->choose({}, with_outstanding({2, 1, 1})).value, 1U);
}

TEST(Router, StickyRemembersTheSessionsHeardFromLast) {
  const auto router = make("sticky", "sessions_max = 2");
  ASSERT_EQ(router->choose(of_session(1), with_outstanding({0, 1})).value, 0U);
  ASSERT_EQ(router->choose(of_session(2), with_outstanding({0, 1})).value, 0U);
  ASSERT_EQ(router->choose(of_session(1), with_outstanding({0, 1})).value, 0U);
  ASSERT_EQ(router->choose(of_session(3), with_outstanding({0, 1})).value, 0U);  // 2 is forgotten
  EXPECT_EQ(router->choose(of_session(1), with_outstanding({1, 0})).value, 0U);
  EXPECT_EQ(router->choose(of_session(2), with_outstanding({1, 0})).value, 1U);
}

// Scores by hand: prefix 3, queue 2, cache 2.
TEST(Router, ScoredWeighsThePrefixAgainstQueueAndCache) {
  const auto router = make("scored");
  // Replica 1: 2 (shortest queue) + 2 x 0.75; 0 and 2: 2 x (6 - 3) / 6 + 2 x 0.5 and 0 + 2.
  EXPECT_EQ(router
                ->choose(prompt_of({1, 2, 3, 4}),
                         std::vector<ReplicaStatus>{
                             {{0}, 0, 3, 0, 0.5}, {{1}, 0, 0, 0, 0.25}, {{2}, 0, 6, 0, 0}})
                .value,
            1U);
  const auto chosen_at = [&](double kv_used, std::int64_t waiting) {
    const auto fresh = make("scored");
    (void)fresh->choose(prompt_of({1, 2, 3, 4}), std::vector<ReplicaStatus>{{{1}, 0}});
    const std::vector<ReplicaStatus> replicas = {{{0}, 0, 0, 0, 0}, {{1}, 0, waiting, 0, kv_used}};
    return fresh->choose(prompt_of({1, 2, 3, 9}), replicas).value;
  };
  // Three of four chunks are worth 2.25: more than a full cache (2), less than that and a queue.
  EXPECT_EQ(chosen_at(1.0, 0), 1U);
  EXPECT_EQ(chosen_at(0.1, 1), 1U);  // 2.25 + 1.8 against 2 + 2
  EXPECT_EQ(chosen_at(0.2, 1), 0U);  // 2.25 + 1.6
}

TEST(Router, ScoredWithoutPrefixesDrawsAmongEquals) {
  const auto router = make("scored", "requests_weight = 1");
  std::map<std::uint32_t, int> chosen;
  for (int i = 0; i < 3000; ++i) ++chosen[router->choose({}, with_outstanding({0, 4, 0})).value];
  EXPECT_EQ(chosen.count(1), 0U);
  EXPECT_NEAR(chosen[0], 1500, 4 * 27);  // sqrt(3000 / 4) = 27
}

TEST(Router, ScoredForgetsWhatFailedAndWhatIsTooLong) {
  const auto router = make("scored", "queue_weight = 0\nkv_weight = 0\nmatch_chunks_max = 2");
  const std::vector<ReplicaStatus> only_1 = {{{1}, 0}};
  ASSERT_EQ(router->choose(prompt_of({1, 2, 3}), only_1).value, 1U);
  // The third chunk is not looked at: all of what is was sent there.
  for (int i = 0; i < 20; ++i)
    ASSERT_EQ(router->choose(prompt_of({1, 2, 9}), with_outstanding({0, 9})).value, 1U);
  router->forget({1});
  std::map<std::uint32_t, int> chosen;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const auto fresh = make("scored", "queue_weight = 0\nkv_weight = 0", i);
    (void)fresh->choose(prompt_of({1, 2}), only_1);
    fresh->forget({1});
    ++chosen[fresh->choose(prompt_of({1, 2}), with_outstanding({0, 0})).value];
  }
  EXPECT_EQ(chosen.size(), 2U);
}

TEST(Router, ScoredListensToWhatCachesKeepAndLose) {
  const auto router = make("scored", "prefixes = \"cached\"\nevent_delay = \"20 ms\"");
  EXPECT_EQ(router->event_delay(), Seconds(0.020));
  EXPECT_EQ(make("scored")->event_delay(), std::nullopt);
  const std::vector<ReplicaStatus> replicas = {{{0}, 0}, {{1}, 0, 1}};
  const auto chosen = [&] { return router->choose(prompt_of({1, 2, 3, 4}), replicas).value; };
  // The queue's 2 count for replica 0, whatever was sent to 1 before.
  (void)router->choose(prompt_of({1, 2, 3, 4}), std::vector<ReplicaStatus>{replicas[1]});
  EXPECT_EQ(chosen(), 0U);
  // Two of four chunks are worth 1.5, three 2.25.
  for (const std::uint64_t hash : {1, 2, 4}) router->on_prefix_kept({1}, hash);
  EXPECT_EQ(chosen(), 0U);
  router->on_prefix_kept({1}, 3);
  EXPECT_EQ(chosen(), 1U);
  router->on_prefix_gone({1}, 2);  // what follows is of no use
  EXPECT_EQ(chosen(), 0U);
  // Two ranks of a replica keep the same chunk, and one of them evicts it.
  router->on_prefix_kept({1}, 2);
  router->on_prefix_kept({1}, 2);
  router->on_prefix_gone({1}, 2);
  EXPECT_EQ(chosen(), 1U);
  router->forget({1});
  EXPECT_EQ(chosen(), 0U);
}

TEST(Router, OptionsOutOfRangeAreMistakes) {
  const auto message = [](const char* name, const char* text) {
    try {
      (void)make(name, text);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message("prefix_affinity", "match_min = 30"),
            "options:1:1: deployment.match_min: is a share of the prompt: from 0 to 1");
  EXPECT_EQ(message("scored", "prefixes = \"cache\""),
            "options:1:1: deployment.prefixes: unknown value 'cache'; did you mean 'cached'? "
            "Known: sent, cached");
  EXPECT_EQ(message("prefix_affinity", "balance_rel = 0.5"),
            "options:1:1: deployment.balance_rel: must be at least 1");
  EXPECT_EQ(message("sticky", "imbalance_max = -1"),
            "options:1:1: deployment.imbalance_max: must not be negative");
}

TEST(Router, AnUnknownNameListsTheKnown) {
  try {
    (void)router_catalog().find("round_robbin", {"a.toml", 3, 1});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "a.toml:3:1: unknown router 'round_robbin'; did you mean 'round_robin'? Known: "
                 "round_robin, least_outstanding, kv_load, power_of_two, prefix_affinity, "
                 "adapter_affinity, scored, "
                 "sticky");
  }
}

}  // namespace
}  // namespace foretoken

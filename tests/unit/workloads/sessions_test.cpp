// Sessions turn by turn: contexts, hashes, dates, limits, streams and mistakes.

#include "workloads/requests/sessions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken {
namespace {

constexpr const char* chat = R"(arrivals = "interval"
rate = "1 /s"
requests = 7
prompt_tokens = 10
output_tokens = 30
prefix_block_tokens = 8
sessions = { turns = 3, think_time = "5 s" }
system_prompts = { tokens = 20 }
)";

std::unique_ptr<RequestSource> source_of(const std::string& text, std::uint64_t seed = 1) {
  const ReadWorkload result = read(text);
  EXPECT_EQ(result.errors, "");
  return result.workload->start(RandomStreams(seed));
}

TEST(Sessions, ATurnsPromptIsEverythingSaidBefore) {
  const auto source = source_of(chat);
  const Request first = *source->next();
  EXPECT_EQ(first.prompt_tokens, 20 + 10);
  EXPECT_EQ(first.output_tokens, 30);
  EXPECT_EQ(*first.session, 0U);
  EXPECT_FALSE(source->next_follow_up().has_value());
  source->on_finished(first.id, Seconds(100.0));
  const Request second = *source->next_follow_up();
  EXPECT_EQ(second.prompt_tokens, 60 + 10);
  EXPECT_DOUBLE_EQ(second.arrival.value(), 105.0);
  EXPECT_EQ(*second.session, 0U);
  EXPECT_FALSE(source->next_follow_up().has_value());
  source->on_finished(second.id, Seconds(110.0));
  const Request third = *source->next_follow_up();
  EXPECT_EQ(third.prompt_tokens, 100 + 10);
  source->on_finished(third.id, Seconds(120.0));
  EXPECT_FALSE(source->next_follow_up().has_value());
}

TEST(Sessions, AUsersNextConversationDoesNotWaitForALaterUsersFirst) {
  const auto source = source_of(
      "arrivals = \"closed_loop\"\nusers = 2\nramp_up = \"200 s\"\nrequests = 9\n"
      "prompt_tokens = 10\noutput_tokens = 30\nsessions = { turns = 1, think_time = \"5 s\" }\n");
  const Request first = *source->next();
  EXPECT_EQ(source->next()->arrival.value(), 100.0);
  source->on_finished(first.id, Seconds(3.0));
  const auto again = source->next_follow_up();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->arrival.value(), 3.0);
  EXPECT_EQ(*again->session, 2U);
  EXPECT_FALSE(source->next_follow_up());
}

TEST(Sessions, HashesCoverQuestionsAndAnswersAndAreSharedWithinTheSystemPrompt) {
  const auto source = source_of(chat);
  const Request a = *source->next();
  const Request b = *source->next();
  source->on_finished(a.id, Seconds(9.0));
  const Request a2 = *source->next_follow_up();
  ASSERT_TRUE(a.prefix_hashes_cover_output);
  ASSERT_EQ(a.prefix_hashes.size(), 7U);    // 60 tokens in blocks of 8
  ASSERT_EQ(a2.prefix_hashes.size(), 12U);  // 100
  // 20 tokens of system prompt are two whole blocks; the third holds the session's own words too.
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(a.prefix_hashes[i] == b.prefix_hashes[i], i < 2) << i;
    EXPECT_EQ(a.prefix_hashes[i], a2.prefix_hashes[i]) << i;
  }
}

TEST(Sessions, ASessionThatTheLimitCutsKeepsItsLength) {
  const auto source = source_of(chat);  // 7 = 3 + 3 + 1
  for (int i = 0; i < 3; ++i) EXPECT_EQ(source->next()->session_requests, 3) << i;
  EXPECT_FALSE(source->next());
}

TEST(Sessions, TheLimitCutsTheLastSessionAndCountsTurns) {
  const auto source = source_of(chat);  // 7 = 3 + 3 + 1
  std::map<std::uint64_t, int> turns;
  std::vector<Request> open;
  while (auto request = source->next()) open.push_back(*request);
  EXPECT_EQ(open.size(), 3U);
  std::set<std::uint32_t> ids;
  while (!open.empty()) {
    const Request request = open.back();
    open.pop_back();
    ++turns[*request.session];
    ids.insert(request.id.value);
    source->on_finished(request.id, request.arrival + Seconds(1.0));
    while (auto next = source->next_follow_up()) open.push_back(*next);
  }
  EXPECT_EQ(turns, (std::map<std::uint64_t, int>{{0, 3}, {1, 3}, {2, 1}}));
  EXPECT_EQ(ids.size(), 7U);
  EXPECT_EQ(*ids.rbegin(), 6U);
  EXPECT_EQ(source->expected(), 7);
}

TEST(Sessions, AGivenUpTurnEndsTheSession) {
  const auto source = source_of(chat);
  const Request first = *source->next();
  source->on_given_up(first.id, Seconds(2.0));
  EXPECT_FALSE(source->next_follow_up().has_value());
}

TEST(Sessions, ClosedLoopUsersBeginTheNextSessionAfterTheirLast) {
  const auto source = source_of(R"(arrivals = "closed_loop"
users = 2
think_time = "60 s"
requests = 100
prompt_tokens = 10
output_tokens = 30
sessions = { turns = 2, think_time = "5 s" }
)");
  const Request a = *source->next();
  const Request b = *source->next();
  EXPECT_FALSE(source->next().has_value());
  source->on_finished(a.id, Seconds(10.0));
  EXPECT_FALSE(source->next().has_value());  // the user goes on in the same session
  const Request a2 = *source->next_follow_up();
  source->on_finished(a2.id, Seconds(20.0));
  const Request c = *source->next();
  EXPECT_DOUBLE_EQ(c.arrival.value(), 80.0);
  EXPECT_EQ(*c.session, 2U);
  source->on_given_up(b.id, Seconds(30.0));
  EXPECT_DOUBLE_EQ(source->next()->arrival.value(), 90.0);
}

TEST(Sessions, WhatIsSaidDependsOnTheSeedAloneNotOnWhenAnswersCome) {
  const std::string text = R"(arrivals = "poisson"
rate = "1 /s"
requests = 60
prompt_tokens = { distribution = "uniform", min = 1, max = 500 }
output_tokens = { distribution = "uniform", min = 1, max = 500 }
sessions = { turns = { distribution = "uniform", min = 1, max = 6 }, think_time = "5 s" }
system_prompts = { count = 9, tokens = { distribution = "uniform", min = 1, max = 99 } }
)";
  using Said = std::map<std::pair<std::uint64_t, std::int64_t>, std::int64_t>;
  // By session and prompt length, since ids follow the order of the answers.
  const auto said = [&](bool last_first) {
    const auto source = source_of(text, 7);
    std::vector<Request> open;
    while (auto request = source->next()) open.push_back(*request);
    Said all;
    double now = 1e3;
    while (!open.empty()) {
      const auto chosen = last_first ? std::prev(open.end()) : open.begin();
      const Request request = *chosen;
      open.erase(chosen);
      all[{*request.session, request.prompt_tokens}] = request.output_tokens;
      source->on_finished(request.id, Seconds(now += 1.0));
      while (auto next = source->next_follow_up()) open.push_back(*next);
    }
    return all;
  };
  EXPECT_EQ(said(true), said(false));
  EXPECT_EQ(said(true).size(), 60U);
}

TEST(Sessions, SystemPromptsArePopularAsZipfSays) {
  const auto all = requests(R"(arrivals = "interval"
rate = "1 /s"
requests = 30000
prompt_tokens = 1
output_tokens = 1
prefix_block_tokens = 8
system_prompts = { count = 3, tokens = 8, exponent = 1.0 }
)");
  std::map<std::uint64_t, int> count;
  for (const Request& request : all) ++count[request.prefix_hashes.front()];
  std::vector<int> sizes;
  for (const auto& [hash, times] : count) sizes.push_back(times);
  std::ranges::sort(sizes, std::greater());
  ASSERT_EQ(sizes.size(), 3U);
  // 1, 1/2, 1/3 of a sum of 11/6; a standard deviation is at most 87.
  EXPECT_NEAR(sizes[0], 30000 * 6.0 / 11, 4 * 87);
  EXPECT_NEAR(sizes[1], 30000 * 3.0 / 11, 4 * 87);
  EXPECT_NEAR(sizes[2], 30000 * 2.0 / 11, 4 * 87);
}

TEST(Sessions, AContextLimitEndsASessionEarly) {
  const auto turns = [&](const char* limit) {
    std::string limited = chat;
    const std::string place = "think_time = \"5 s\"";
    limited.insert(limited.find(place) + place.size(), limit);
    const auto source = source_of(limited);
    Request request = *source->next();
    int count = 1;
    for (;; ++count) {
      source->on_finished(request.id, Seconds(count * 10.0));
      const auto next = source->next_follow_up();
      if (!next) return count;
      request = *next;
    }
  };
  // 60, 100 and 140 tokens after the first, second and third turn.
  EXPECT_EQ(turns(", context_tokens_max = 140"), 3);
  EXPECT_EQ(turns(", context_tokens_max = 139"), 2);
  EXPECT_EQ(turns(", context_tokens_max = 99"), 1);
  EXPECT_EQ(turns(", context_tokens_max = 5"), 1);  // the first is always said
}

TEST(Sessions, MistakesAreTold) {
  const std::string traffic =
      "arrivals = \"interval\"\nrate = \"1 /s\"\nrequests = 5\nprompt_tokens = 1\noutput_tokens = "
      "1\n";
  EXPECT_EQ(read(traffic + "sessions = { turns = 0, think = \"1 s\" }\n").errors,
            "s.toml:7:1: workload.sessions.think_time: is missing; write a time, for example \"20 "
            "s\", or \"0 s\"\n"
            "s.toml:7:14: workload.sessions.turns: must be at least 1\n"
            "s.toml:7:25: unknown key 'think' in [workload.sessions]; did you mean 'think_time'?");
  EXPECT_EQ(read(traffic + "system_prompts = { count = 0, tokens = { distribution = \"fixd\" } }\n")
                .errors,
            "s.toml:7:20: workload.system_prompts.count: must be from 1 to 1000000\n"
            "s.toml:7:42: unknown length distribution 'fixd'; did you mean 'fixed'? Known: fixed, "
            "uniform, lognormal, zipf, histogram, trace");
}

}  // namespace
}  // namespace foretoken

// Which adapters requests ask for: shares, streams, what they have in common, and mistakes.

#include "workloads/requests/adapters.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::adapters_test {
namespace {

constexpr const char* traffic = R"(arrivals = "interval"
rate = "1 /s"
requests = 40000
prompt_tokens = { distribution = "uniform", min = 1, max = 900 }
output_tokens = 5
)";

// Of three adapters with shares 6/11, 3/11 and 2/11 of a half; 20,000 is the base model's.
TEST(Adapters, AreAskedForByZipfsLaw) {
  const auto all =
      requests(std::string(traffic) + "adapters = { count = 3, share = 0.5, skew = 1 }\n");
  std::map<int, int> count;
  for (const Request& request : all)
    ++count[request.adapter ? static_cast<int>(*request.adapter) : -1];
  ASSERT_EQ(count.size(), 4U);
  // A standard deviation is at most 100.
  EXPECT_NEAR(count[-1], 20'000, 400);
  EXPECT_NEAR(count[0], 20'000 * 6 / 11, 400);
  EXPECT_NEAR(count[1], 20'000 * 3 / 11, 400);
  EXPECT_NEAR(count[2], 20'000 * 2 / 11, 400);
}

TEST(Adapters, ShiftNoOtherStream) {
  const auto plain = requests(traffic);
  const auto adapted = requests(std::string(traffic) + "adapters = { count = 8 }\n");
  EXPECT_EQ(prompts(plain), prompts(adapted));
  EXPECT_EQ(plain.front().adapter, std::nullopt);
  for (const Request& request : adapted) ASSERT_TRUE(request.adapter);
}

// Keys and values behind an adapter are its own: equal prompts share nothing across adapters.
TEST(Adapters, EachHasPrefixesOfItsOwn) {
  Request base;
  base.prefix_hashes = {1, 2, 3};
  Request first = base, again = base, second = base;
  give_adapter(std::nullopt, base);
  EXPECT_THAT(base.prefix_hashes, testing::ElementsAre(1, 2, 3));
  give_adapter(0, first);
  give_adapter(0, again);
  give_adapter(1, second);
  EXPECT_EQ(first.prefix_hashes, again.prefix_hashes);
  std::set<std::uint64_t> all;
  for (const Request* request : {&base, &first, &second})
    all.insert(request->prefix_hashes.begin(), request->prefix_hashes.end());
  EXPECT_EQ(all.size(), 9U);
}

TEST(Adapters, AConversationKeepsItsOwn) {
  const ReadWorkload workload = read(R"(arrivals = "poisson"
rate = "1 /s"
requests = 200
sessions = { turns = 4, think_time = "0 s" }
prompt_tokens = 50
output_tokens = 5
adapters = { count = 5, skew = 0 }
)");
  ASSERT_EQ(workload.errors, "");
  const auto source = workload.workload->start(RandomStreams(1));
  std::map<std::uint64_t, std::set<std::uint32_t>> of_session;
  std::set<std::uint32_t> met;
  int sent = 0;
  for (auto request = source->next(); request;) {
    of_session[*request->session].insert(*request->adapter);
    met.insert(*request->adapter);
    ++sent;
    source->on_finished(request->id, request->arrival);
    auto follow_up = source->next_follow_up();
    request = follow_up ? std::move(follow_up) : source->next();
  }
  EXPECT_EQ(sent, 200);
  EXPECT_EQ(of_session.size(), 50U);
  for (const auto& [session, adapters] : of_session) EXPECT_EQ(adapters.size(), 1U) << session;
  EXPECT_GT(met.size(), 1U);
}

TEST(Adapters, MistakesAreToldWithARemedy) {
  EXPECT_EQ(read(std::string(traffic) + "adapters = { share = 0.5 }\n").errors,
            "s.toml:7:1: [workload.adapters] lacks 'count'");
  EXPECT_EQ(read(std::string(traffic) + "adapters = { count = 2, share = 1.5 }\n").errors,
            "s.toml:7:25: workload.adapters.share: must be above 0, at most 1");
  EXPECT_EQ(read(std::string(traffic) + "adapters = { count = 2, skw = 1 }\n").errors,
            "s.toml:7:25: unknown key 'skw' in [workload.adapters]; did you mean 'skew'?");
}

}  // namespace
}  // namespace foretoken::adapters_test

// Priority classes: shares, the stream they draw from, and mistakes.

#include "workloads/requests/priorities.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "tests/unit/workloads/requests_fixture.hpp"

namespace foretoken::priorities_test {
namespace {

constexpr const char* traffic = R"(arrivals = "interval"
rate = "1 /s"
requests = 40000
prompt_tokens = { distribution = "uniform", min = 1, max = 900 }
output_tokens = 5
)";

TEST(Priorities, ClassesComeByTheirShares) {
  const auto all = requests(std::string(traffic) +
                            "priorities = [{ priority = -1, share = 1 }, { priority = 4, share = 3 "
                            "}]\n");
  std::map<int, int> count;
  for (const Request& request : all) ++count[request.priority];
  ASSERT_EQ(count.size(), 2U);
  // 40,000 draws of probability 1/4: a standard deviation is 87.
  EXPECT_NEAR(count[-1], 10'000, 4 * 87);
  EXPECT_EQ(count[-1] + count[4], 40'000);
}

TEST(Priorities, AreZeroWithoutClassesAndShiftNoOtherStream) {
  const auto plain = requests(traffic);
  const auto classed =
      requests(std::string(traffic) + "priorities = [{ priority = 7, share = 1 }]\n");
  EXPECT_EQ(prompts(plain), prompts(classed));
  EXPECT_EQ(plain.front().priority, 0);
  EXPECT_EQ(classed.front().priority, 7);
}

// They are compared, never subtracted: the ends of the type are classes like others.
TEST(Priorities, ReachToTheEndsOfTheirType) {
  const auto all = requests(std::string(traffic) +
                            "priorities = [{ priority = -2147483648, share = 1e9 }, { priority = "
                            "2147483647, share = 1e9 }]\n");
  std::map<int, int> count;
  for (const Request& request : all) ++count[request.priority];
  ASSERT_EQ(count.size(), 2U);
  EXPECT_NEAR(count[std::numeric_limits<int>::min()], 20'000, 4 * 100);
  EXPECT_GT(count[std::numeric_limits<int>::max()], 0);
  for (const char* beyond : {"2147483648", "-2147483649", "9223372036854775807"}) {
    EXPECT_THAT(
        read(fmt::format("{}priorities = [{{ priority = {}, share = 1 }}]\n", traffic, beyond))
            .errors,
        testing::HasSubstr("workload.priorities.priority: must be an integer"));
  }
}

TEST(Priorities, MistakesAreToldWithARemedy) {
  EXPECT_EQ(read(std::string(traffic) + "priorities = 3\n").errors,
            "s.toml:7:1: workload.priorities: is an integer; write a list of classes, for example "
            "[{ priority = 0, share = 0.2 }, { priority = 1, share = 0.8 }]; lower priorities go "
            "first");
  EXPECT_EQ(read(std::string(traffic) + "priorities = [{ priority = 1, share = 0.0 }]\n").errors,
            "s.toml:7:31: workload.priorities.share: must be above 0, at most 1e9");
  EXPECT_EQ(read(std::string(traffic) + "priorities = [{ share = 1, prio = 0 }]\n").errors,
            "s.toml:7:15: [workload.priorities] lacks 'priority'\n"
            "s.toml:7:28: unknown key 'prio' in [workload.priorities]; did you mean 'priority'?");
}

}  // namespace
}  // namespace foretoken::priorities_test

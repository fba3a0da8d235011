// What a gateway does about tenants and classes, as a scenario says it.

#include <gmock/gmock.h>

#include "tests/unit/scenario/scenario_text.hpp"

namespace foretoken::tenants_test {
namespace {

using scenario_text::error_of;
using scenario_text::minimal;
using scenario_text::read;
using ::testing::EndsWith;
using ::testing::HasSubstr;

const std::string two =
    std::string(minimal) +
    "classes = [{ tenant = \"web\", share = 1 }, { tenant = \"batch\", share = 1 "
    "}]\n[front_end]\n";

TEST(Tenants, LimitsAndQueuesReadBackToThemselves) {
  const Scenario scenario =
      read(two +
           "outstanding_max = 8\nqueue_max = 20\nqueue_order = \"round_robin\"\n"
           "classes = [{ priority = 1, queue_max = 5 }]\n"
           "tenants = [{ tenant = \"batch\", token_rate = \"900 /s\", burst = \"2 s\" }]\n");
  EXPECT_EQ(scenario.front_end.queue_max, 20);
  EXPECT_EQ(scenario.front_end.classes, (std::vector<QueueClass>{{1, 5}}));
  EXPECT_EQ(scenario.front_end.tenants.front().token_rate, PerSecond(900));
  EXPECT_EQ(scenario.front_end.tenants.front().request_rate, std::nullopt);
  const Scenario again = read(to_toml(resolved_scenario(scenario)));
  EXPECT_EQ(again.front_end, scenario.front_end);
  EXPECT_EQ(again.workload->tenants().size(), 2U);
}

TEST(Tenants, MistakesAreTold) {
  EXPECT_THAT(
      error_of(two + "tenants = [{ tenant = \"bach\", request_rate = \"1 /s\" }]\n"),
      EndsWith("front_end.tenants: unknown tenant 'bach'; did you mean 'batch'? Known: web, "
               "batch"));
  EXPECT_THAT(error_of(std::string(minimal) +
                       "[front_end]\ntenants = [{ tenant = \"web\", request_rate = \"1 /s\" }]\n"),
              HasSubstr("there are none; name the tenant of each class"));
  EXPECT_THAT(error_of(two + "tenants = [{ tenant = \"web\" }, { tenant = \"web\" }]\n"),
              HasSubstr("front_end.tenants.tenant: web is given twice"));
  EXPECT_THAT(error_of(two + "queue_max = 3\n"),
              EndsWith("front_end.queue_max: no request waits if replicas take any number of them; "
                       "set outstanding_max"));
  EXPECT_THAT(error_of(two + "classes = [{ priority = 1, queue_max = 5 }]\n"),
              EndsWith("front_end.classes: limit a queue, but there is none; set queue_max"));
  EXPECT_THAT(error_of(std::string(minimal) + "[front_end]\nqueue_order = \"round_robin\"\n"),
              HasSubstr("front_end.queue_order: takes tenants in turn, but there are none"));
  EXPECT_THAT(error_of(two + "queue_order = \"fair\"\n"), HasSubstr("Known: fcfs, round_robin"));
}

}  // namespace
}  // namespace foretoken::tenants_test

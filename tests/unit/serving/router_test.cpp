// Every built-in router on the same replicas.

#include "sim/serving/router.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "sim/base/toml.hpp"

namespace foretoken {
namespace {

std::unique_ptr<Router> make(const char* name) {
  Diagnostics diagnostics;
  const Value empty;
  TableReader options(empty, diagnostics, "deployment");
  return router_catalog().find(name, {}).make(options, RandomStreams(1));
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

TEST(Router, AnUnknownNameListsTheKnown) {
  try {
    (void)router_catalog().find("round_robbin", {"a.toml", 3, 1});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "a.toml:3:1: unknown router 'round_robbin'; did you mean 'round_robin'? Known: "
                 "round_robin, least_outstanding");
  }
}

}  // namespace
}  // namespace foretoken

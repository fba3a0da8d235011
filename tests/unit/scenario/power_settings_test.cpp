// What a scenario says of power.

#include <gtest/gtest.h>

#include "tests/unit/scenario/scenario_text.hpp"

namespace foretoken::power_settings_test {
namespace {

using scenario_text::error_of;
using scenario_text::minimal;
using scenario_text::read;

TEST(PowerSettings, APowerCapIsTheLimitThatPricesKnow) {
  const Scenario capped = read(minimal, {"cluster.power_cap=400 W"});
  EXPECT_EQ(capped.cluster.gpu.power, Watts(400));
  EXPECT_EQ(capped.power.uncapped, Watts(700));
  EXPECT_EQ(read(minimal).cluster.gpu.power, Watts(700));
  const std::string text = to_toml(resolved_scenario(capped));
  EXPECT_NE(text.find("power_cap = \"400 W\""), std::string::npos);
  EXPECT_EQ(read(text).cluster.gpu.power, Watts(400));
  EXPECT_EQ(
      error_of(minimal, {"cluster.power_cap=900 W"}),
      "--set cluster.power_cap=900 W: cluster.power_cap: is 900 W, and h200-sxm can be limited "
      "from 175 to 700 W");
  EXPECT_EQ(error_of(minimal, {"cluster.power_cap=20 W"}),
            "--set cluster.power_cap=20 W: cluster.power_cap: is 20 W, and h200-sxm can be limited "
            "from 175 to 700 W");
}

}  // namespace
}  // namespace foretoken::power_settings_test

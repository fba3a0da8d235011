// What a scenario says of power.

#include <gtest/gtest.h>

#include "sim/base/change.hpp"
#include "sim/base/toml.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken::power_settings_test {
namespace {

constexpr const char* minimal = R"([model]
name = "llama-3.1-8b"
[cluster]
name = "h200-sxm-8"
[workload]
arrivals = "poisson"
rate = "4 /s"
requests = 10
prompt_tokens = 100
output_tokens = 10
)";

Scenario read(const std::string& text, const std::vector<std::string>& overrides = {}) {
  Value root = parse_toml(text, "s.toml");
  apply_changes(root, parse_changes(overrides));
  return read_scenario(root, {"."});
}

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  try {
    (void)read(text, overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

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

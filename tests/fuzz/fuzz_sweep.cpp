// Any bytes as arguments of `sweep --vary` (a line each) and as the [plan] table of a scenario:
// they become a plan of runs or settings, or a ConfigError.
#include <cstdint>
#include <string_view>

#include "sim/base/error.hpp"
#include "sim/base/toml.hpp"
#include "sim/planner/plan/plan_settings.hpp"
#include "sim/planner/sweep/sweep_plan.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace foretoken;

void check_sweep_plan(std::string_view text, Combination combination) {
  SweepPlan plan;
  try {
    std::vector<VariedKey> keys;
    std::size_t points = 1;
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      keys.push_back(read_varied_key(text.substr(0, end)));
      FORETOKEN_CHECK(!keys.back().values.empty(), "a key without values");
      points *= keys.back().values.size();
      if (points > 10'000) return;  // a plan that large is slow, not wrong
      text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    plan = plan_sweep(std::move(keys), combination, 2, 7);
  } catch (const ConfigError&) {
    return;
  }
  FORETOKEN_CHECK(plan.runs() == 2 * plan.points.size(), "{} runs of {} points with two seeds",
                  plan.runs(), plan.points.size());
  for (std::size_t run = 0; run < plan.runs(); ++run) {
    FORETOKEN_CHECK(plan.request(run).changes.size() == plan.keys.size() + 1,
                    "run {} does not set every key and the seed", run);
  }
}

}  // namespace

FORETOKEN_FUZZ(sweep)(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_sweep_plan(text, Combination::cartesian);
  check_sweep_plan(text, Combination::zipped);
  try {
    read_plan_settings(parse_toml(text, "fuzz.toml"));
  } catch (const ConfigError&) {
    return 0;
  }
  return 0;
}

// Any bytes as a file of expert histograms, and as the text of `expert_routing`: they become draws,
// each of which gives every assignment to an expert, or a ConfigError.
#include <cstdint>
#include <string>

#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"
#include "workloads/routing_draw.hpp"

namespace {

using namespace foretoken;

void check_draws(const std::string& text, int experts) {
  if (!is_routing_draw(text)) return;
  RoutingDraw draw;
  try {
    draw = parse_routing_draw(text, experts, {}, {"fuzz.toml", 1});
  } catch (const ConfigError&) {
    return;
  }
  FORETOKEN_CHECK(!draw.each.empty(), "no draws from '{}'", text);
  typical_routing(draw);
}

}  // namespace

FORETOKEN_FUZZ(routing)(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  check_draws("histograms:" + file.path(), 0);
  check_draws("histograms:" + file.path(), 8);
  check_draws("balancedness:" + std::string(reinterpret_cast<const char*>(data), size), 8);
  return 0;
}

// Any bytes as a scenario file: loading ends in a Scenario or in a ConfigError. A scenario that
// loads must also survive being written out with its defaults and loaded again, and its traffic
// must start. The same bytes are tried as an engine's preset and as rules of measured servers.
// Paths in the bytes are read like any user's; nothing is written.
#include <cstdint>
#include <string_view>

#include "sim/base/toml.hpp"
#include "sim/scenario/engine_preset.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/scenario/server_rules.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace foretoken;

std::string resolved(const Scenario& scenario) { return to_toml(resolved_scenario(scenario)); }

void check_round_trip(const Scenario& scenario) {
  const std::string text = resolved(scenario);
  std::string again;
  try {
    again = resolved(read_scenario(parse_toml(text, "resolved.toml"), {}));
  } catch (const ConfigError& error) {
    FORETOKEN_CHECK(false, "the resolved scenario is refused: {}\n{}", error.what(), text);
  }
  FORETOKEN_CHECK(again == text, "the resolved scenario resolves to another:\n{}\n{}", text, again);
}

void check_traffic(const Scenario& scenario) {
  constexpr int drawn_max = 32;
  const auto source = scenario.workload->start(RandomStreams(scenario.run.seed));
  Seconds last;
  for (int i = 0; i < drawn_max; ++i) {
    const auto request = source->next();
    if (!request) break;
    FORETOKEN_CHECK(request->arrival >= last, "request {} arrives before its predecessor", i);
    FORETOKEN_CHECK(request->prompt_tokens >= 1 && request->output_tokens >= 1,
                    "request {} has {} and {} tokens", i, request->prompt_tokens,
                    request->output_tokens);
    last = request->arrival;
  }
}

void check_preset(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const EnginePreset preset = load_engine_preset(file.path(), {});
    for (const char* name : {"h100-sxm", "l40s"}) {
      const GpuSpec gpu = load_gpu(name, {});
      (void)preset.settings({gpu, {}, true});
    }
  } catch (const ConfigError&) {
    return;
  }
}

void check_rules(const Value& root) {
  try {
    read_server_rules(root);
  } catch (const ConfigError&) {
    return;
  }
}

}  // namespace

FORETOKEN_FUZZ(scenario)(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_preset(data, size);
  Scenario scenario;
  try {
    const Value root = parse_toml(text, "fuzz.toml");
    check_rules(root);
    scenario = read_scenario(root, {});
  } catch (const ConfigError&) {
    return 0;
  }
  check_round_trip(scenario);
  check_traffic(scenario);
  return 0;
}

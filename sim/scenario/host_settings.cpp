#include "sim/scenario/host_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace foretoken {
namespace {

using HostTime = std::pair<const char*, Seconds HostSettings::*>;
constexpr std::array<HostTime, 9> host_times = {{
    {"host_time", &HostSettings::gap},
    {"host_step", &HostSettings::step},
    {"host_sequence", &HostSettings::sequence},
    {"host_request", &HostSettings::request},
    {"host_launch", &HostSettings::launch},
    {"host_graph_launch", &HostSettings::graph_launch},
    {"front_end_request", &HostSettings::front_end_request},
    {"front_end_token", &HostSettings::front_end_token},
    {"front_end_output", &HostSettings::front_end_output},
}};

}  // namespace

HostSettings read_host_settings(TableReader& table) {
  HostSettings host;
  for (const auto& [key, member] : host_times) {
    table.read(key, host.*member);
    table.expect(key, host.*member >= Seconds(0.0), "must not be negative");
  }
  table.read("host_speed", host.speed);
  table.expect("host_speed", host.speed > 0.0,
               "is how fast the CPU is, as a multiple of the one the times are of: above 0");
  table.read("async_scheduling", host.async_scheduling);
  table.read("cuda_graph_sizes", host.cuda_graph_sizes);
  table.expect("cuda_graph_sizes",
               std::ranges::all_of(host.cuda_graph_sizes, [](int size) { return size >= 1; }),
               "are tokens of a step: each at least 1");
  std::ranges::sort(host.cuda_graph_sizes);
  table.read("cuda_graph_prefill", host.cuda_graph_prefill);
  return host;
}

void describe_host_settings(const HostSettings& host, bool all, Value& engine) {
  for (const auto& [key, member] : host_times) {
    // host_time has always been written out.
    if (all || host.*member > Seconds(0.0) || member == &HostSettings::gap) {
      engine.set(key, exact_text(host.*member));
    }
  }
  if (all || host.speed != 1.0) engine.set("host_speed", host.speed);
  if (all || host.async_scheduling) engine.set("async_scheduling", host.async_scheduling);
  if (all || !host.cuda_graph_sizes.empty()) {
    engine.set("cuda_graph_sizes",
               ValueArray(host.cuda_graph_sizes.begin(), host.cuda_graph_sizes.end()));
  }
  if (all || host.cuda_graph_prefill) engine.set("cuda_graph_prefill", host.cuda_graph_prefill);
}

}  // namespace foretoken

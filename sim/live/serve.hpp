// `foretoken serve` as a function: a scenario's fleet behind an HTTP port, in real time or at
// another speed, until somebody stops it (SIGINT, SIGTERM) or the scenario's horizon comes. What
// was served is then reported like any run. A process does it once.
#pragma once

#include <functional>
#include <string>

#include "sim/live/live_options.hpp"
#include "sim/run/run.hpp"

namespace foretoken {

struct ServedLive {
  Report report;
  std::int64_t requests = 0;   // that came
  Summary lateness;            // of tokens on the wall clock, s
  std::string requests_jsonl;  // of those completed, as `foretoken validate` reads it; if recorded
  std::int64_t left_out = 0;   // of those, since they did not complete; if recorded
};

/// `on_ready` is given the port when requests can be served. Throws ConfigError for what
/// run_scenario() refuses, and if it cannot listen.
ServedLive serve(const Scenario& scenario, const Catalogs& catalogs, const LiveOptions& options,
                 const std::function<void(std::uint16_t)>& on_ready);

}  // namespace foretoken

// From a Scenario to a Report: builds the rooms, runs the simulation, sums up. A process can run
// one scenario (sim/platform says why); whoever needs several forks a child for each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/report.hpp"
#include "sim/run/catalogs.hpp"
#include "sim/run/replica_gauges.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/front_end.hpp"
#include "sim/serving/replica.hpp"

namespace foretoken {

struct Progress {
  std::int64_t ended = 0;                // requests
  std::optional<std::int64_t> expected;  // of all requests, if known
  Seconds now;                           // simulated
};

/// Requests that come while the run is under way, in place of the scenario's, and the clock that
/// the run keeps to.
class LiveTraffic : public RequestSource, public Pacer {
 public:
  [[nodiscard]] bool stays_open() const final { return true; }
  /// Before the run, which the arguments outlive. `gauges` tells of every replica, pool by pool.
  virtual void begin(Platform& platform, FrontEnd& front_end,
                     std::function<std::vector<ReplicaGauges>()> gauges) = 0;
};

struct RunOptions {
  StepObserver* observer = nullptr;
  LinkObserver* links = nullptr;
  std::function<void(const Progress&)> progress;  // after every request that ends
  /// Cuts the run once more of the requests that count have missed the SLO.
  std::optional<std::int64_t> misses_max = std::nullopt;
  LiveTraffic* live = nullptr;
};

/// Runs `scenario` to its end or horizon. Throws ConfigError for what only shows when the rooms are
/// built (unknown variants, a model that does not fit), before time 0.
Report run_scenario(const Scenario& scenario, const Catalogs& catalogs,
                    const RunOptions& options = {});

/// Throws ConfigError for what run_scenario() would refuse before time 0.
void check_scenario(const Scenario& scenario, const Catalogs& catalogs);

/// The version of this build, "0.1.0".
std::string version();

}  // namespace foretoken

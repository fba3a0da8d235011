// From a Scenario to a Report: builds the rooms, runs the simulation, sums up. A process can run
// one scenario (sim/platform says why); whoever needs several forks a child for each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernels/predictor.hpp"
#include "sim/report/report.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/serving/front_end.hpp"
#include "sim/serving/memory_plan.hpp"
#include "sim/serving/replica.hpp"
#include "sim/serving/router.hpp"
#include "sim/serving/scheduler.hpp"

namespace foretoken {

/// The variants a scenario can name. Plug-ins add theirs before the run.
struct Catalogs {
  Registry<PredictorFactory> predictors = predictor_catalog();
  Registry<SchedulerFactory> schedulers = scheduler_catalog();
  Registry<RouterFactory> routers = router_catalog();
};

struct Progress {
  std::int64_t ended = 0;                // requests
  std::optional<std::int64_t> expected;  // of all requests, if known
  Seconds now;                           // simulated
};

/// What one replica holds, now.
struct ReplicaGauges {
  std::int64_t running = 0, waiting = 0;  // requests
  double kv_used = 0;                     // share of its KV blocks
  PrefixTotals prefixes;                  // since the run began
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

/// The predictor called `name` with default options; an unknown name is a ConfigError at
/// `position`.
std::unique_ptr<Predictor> make_predictor(const Registry<PredictorFactory>& predictors,
                                          const std::string& name, const SourcePosition& position);

/// The version of this build, "0.1.0".
std::string version();

}  // namespace foretoken

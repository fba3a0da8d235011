#include "sim/library/host_calibration.hpp"

#include <algorithm>

#include "sim/library/foretoken.hpp"
#include "sim/planner/job_pool.hpp"
#include "sim/processes/forked_jobs.hpp"
#include "sim/run/price_edge.hpp"

namespace foretoken {
namespace {

/// What one simulation shows, s.
struct SeenMeans {
  std::vector<double> values;
};

}  // namespace

template <class Archive>
void members(Archive& a, SeenMeans& seen) {
  a("values", seen.values);
}

namespace {

/// GPU times alone: what the host takes is asked for.
void stretch_gpus(Scenario& kind, double factor) {
  std::vector<std::pair<std::string, double>> factors;
  for (const std::string_view name : stretchable_prices())
    factors.emplace_back(name, stretch_of(kind, name) * (name == "host" ? 1.0 : factor));
  kind.price_stretch = std::move(factors);
}

/// The times of `host`; what the engine does with them stays the scenario's.
void take_times(const HostSettings& host, HostSettings& own) {
  HostSettings taken = host;
  taken.speed = own.speed;
  taken.async_scheduling = own.async_scheduling;
  taken.pipeline_fill = own.pipeline_fill;
  taken.cuda_graph_sizes = own.cuda_graph_sizes;
  taken.cuda_graph_prefill = own.cuda_graph_prefill;
  own = std::move(taken);
}

Scenario with(const HostTrial& trial, Scenario scenario) {
  scenario.run.intervals = IntervalSource::none;
  take_times(trial.host, scenario.engine.host);
  stretch_gpus(scenario, trial.gpu);
  for (PoolSpec& pool : scenario.pools) {
    take_times(trial.host, pool.scenario.engine.host);
    stretch_gpus(pool.scenario, trial.gpu);
  }
  return scenario;
}

[[noreturn]] void fail(const ServedRun& run, const Outcome<SeenMeans>& outcome) {
  const std::string message = run.file.string() + ": " + outcome.message;
  if (outcome.status == RunStatus::infeasible)
    throw ConfigError({run.file.string()}, outcome.message);
  throw RunError(message);
}

}  // namespace

HostFit calibrate_host(const std::vector<RecordedRun>& runs, const Catalogs& catalogs,
                       std::size_t slots,
                       const std::function<void(std::size_t, std::size_t)>& tell) {
  std::vector<HostView> views;
  std::vector<HostSight> recorded;
  double gpu_error = 0;
  for (const RecordedRun& run : runs) {
    check_scenario(run.scenario, catalogs);
    views.emplace_back(run.measured);
    recorded.insert(recorded.end(), views.back().recorded().begin(), views.back().recorded().end());
    gpu_error = std::max(gpu_error, family_error(priced_by(run.scenario), "gemm"));
  }
  std::size_t done = 0, asked = 0;
  const auto simulate_trials = [&](const std::vector<HostTrial>& trials) {
    asked += trials.size() * runs.size();
    std::vector<std::vector<double>> seen(trials.size() * runs.size());
    ForkedJobs<SeenMeans> jobs(slots);
    const auto job = [&](std::size_t i) -> std::function<SeenMeans()> {
      return [&, i] {
        const std::size_t run = i % runs.size();
        const Report report =
            run_scenario(with(trials[i / runs.size()], runs[run].scenario), catalogs);
        return SeenMeans{views[run].simulated(report.rows)};
      };
    };
    const bool all = run_all(jobs, seen.size(), job, [&](Finished<SeenMeans>&& over) {
      if (over.outcome.status != RunStatus::ran)
        fail(runs[over.ticket % runs.size()].measured, over.outcome);
      seen[over.ticket] = over.outcome.report.values;
      if (tell) tell(++done, asked);
    });
    if (!all) throw Interrupted();
    std::vector<std::vector<double>> by_trial(trials.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      std::vector<double>& means = by_trial[i / runs.size()];
      means.insert(means.end(), seen[i].begin(), seen[i].end());
    }
    return by_trial;
  };
  return fit_host(recorded, runs.front().scenario.engine.host, gpu_error, simulate_trials);
}

}  // namespace foretoken

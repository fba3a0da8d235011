#include "sim/run/run.hpp"

#include <algorithm>
#include <set>

#include "sim/run/deployed_pools.hpp"
#include "sim/run/link_schedule.hpp"
#include "sim/run/request_figures.hpp"
#include "sim/run/summary.hpp"

namespace foretoken {
namespace {

/// Counts requests that miss the SLO: when they end, or as soon as they are late for certain.
class Misses {
 public:
  Misses(const Scenario& scenario, const Timeline& timeline)
      : limits_(scenario.slo), timeline_(timeline) {}

  [[nodiscard]] const SloTargets& limits() const { return limits_; }
  [[nodiscard]] std::int64_t count() const { return count_; }

  void take_late(const RequestRecord& record) {
    if (!timeline_.is_counted(record)) return;
    late_.insert(record.id.value);
    ++count_;
  }
  void take_ended(const RequestRecord& record) {
    if (late_.erase(record.id.value) == 1) return;
    if (timeline_.is_counted(record) && !limits_.is_met_by(record)) ++count_;
  }

 private:
  SloTargets limits_;
  const Timeline& timeline_;
  std::set<std::uint32_t> late_;  // counted, not ended
  std::int64_t count_ = 0;
};

/// Cuts the run at the horizon.
class Horizon final : public EventHandler {
 public:
  explicit Horizon(Platform& platform) : platform_(platform) {}
  void on_event(std::uint64_t /*tag*/) override { platform_.stop(); }

 private:
  Platform& platform_;
};

/// Targets and limits of requests that never come are a slip. Of live traffic nobody knows.
void check_priorities(const Scenario& scenario) {
  const std::vector<int> priorities = scenario.workload->priorities();
  const auto check = [&](const char* key, int priority) {
    if (std::ranges::find(priorities, priority) != priorities.end()) return;
    throw ConfigError({key}, fmt::format("no request has priority {}; [workload] has {}", priority,
                                         fmt::join(priorities, ", ")));
  };
  for (const auto& one : scenario.slo.classes) check("slo.classes", one.priority);
  for (const auto& one : scenario.front_end.classes) check("front_end.classes", one.priority);
}

}  // namespace

Report run_scenario(const Scenario& scenario, const Catalogs& catalogs, const RunOptions& options) {
  if (options.live == nullptr) check_priorities(scenario);
  DeployedPools pools(scenario, catalogs);
  const auto planned = scenario.workload->start(RandomStreams(scenario.run.seed));
  RequestSource& source = options.live != nullptr ? *options.live : *planned;

  const bool leases = scenario.network != NetworkMode::every_flow;
  Platform platform(scenario.cluster, leases ? Leasing::on : Leasing::off);
  Timeline timeline(scenario.run.warmup);
  Misses misses(scenario, timeline);
  const auto is_given_up = [&] {
    return options.misses_max && misses.count() > *options.misses_max;
  };
  std::int64_t ended = 0;
  const std::optional<std::int64_t> expected = source.expected();
  timeline.expect(expected.value_or(0));
  std::vector<std::string> tenants;
  for (const Tenant& tenant : scenario.workload->tenants()) tenants.push_back(tenant.name);
  FrontEnd front_end(platform, source, timeline, scenario.front_end, [&] {
    ++ended;
    const RequestRecord& record = timeline.requests().back();
    if (options.observer != nullptr) options.observer->on_request_ended(record);
    misses.take_ended(record);
    if (is_given_up()) platform.stop();
    if (options.progress) options.progress({ended, expected, platform.now()});
  });
  front_end.limit(TenantLimits(scenario.front_end.tenants, tenants));
  if (options.misses_max) {
    front_end.watch(misses.limits(), [&](const RequestRecord& record) {
      misses.take_late(record);
      if (is_given_up()) platform.stop();
    });
  }
  front_end.connect(pools.start(platform, timeline, front_end, options.observer));

  set_check_context([&] {
    return fmt::format("seed {}, {} on {}, simulated time {} s", scenario.run.seed,
                       scenario.model_name, scenario.cluster_name, platform.now().value());
  });
  platform.watch_links(options.links);
  LinkSchedule links(scenario, platform);
  Horizon horizon(platform);
  if (scenario.run.horizon) platform.at(*scenario.run.horizon, horizon, 0);
  if (options.live != nullptr) {
    platform.keep_to(*options.live);
    options.live->begin(platform, front_end, [&] { return pools.gauges(); });
  }
  pools.arm();
  links.arm();
  front_end.start();
  platform.run();
  if (!is_given_up() && front_end.ended() == front_end.arrived()) pools.check_empty();
  const std::size_t ended_in_time = timeline.requests().size();
  front_end.close();
  for (std::size_t i = ended_in_time; i < timeline.requests().size(); ++i) {
    if (options.observer != nullptr) options.observer->on_request_ended(timeline.requests()[i]);
  }
  set_check_context({});

  FORETOKEN_CHECK(timeline.requests().size() == static_cast<std::size_t>(front_end.arrived()),
                  "{} requests arrived, {} were accounted for", front_end.arrived(),
                  timeline.requests().size());
  Report report = summarize_run(scenario, {timeline, pools, platform.counters(), platform.traffic(),
                                           platform.now(), source.skipped_lines()});
  report.version = version();
  return report;
}

void check_scenario(const Scenario& scenario, const Catalogs& catalogs) {
  check_priorities(scenario);
  const DeployedPools pools(scenario, catalogs);
}

std::string version() { return FORETOKEN_VERSION; }

}  // namespace foretoken

#include "sim/run/run.hpp"

#include "kernels/physical_predictor.hpp"
#include "sim/run/deployed_pools.hpp"
#include "sim/run/request_figures.hpp"
#include "sim/run/summary.hpp"
#include "sim/scenario/variant.hpp"
#include "sim/serving/front_end.hpp"

namespace foretoken {
namespace {

/// Cuts the run at the horizon.
class Horizon final : public EventHandler {
 public:
  explicit Horizon(Platform& platform) : platform_(platform) {}
  void on_event(std::uint64_t /*tag*/) override { platform_.stop(); }

 private:
  Platform& platform_;
};

}  // namespace

Report run_scenario(const Scenario& scenario, const Catalogs& catalogs, const RunOptions& options) {
  DeployedPools pools(scenario, catalogs);
  const auto source = scenario.workload->start(RandomStreams(scenario.run.seed));

  Platform platform(scenario.cluster);
  Timeline timeline(scenario.run.warmup);
  const SloLimits limits = slo_limits(scenario.slo);
  std::int64_t ended = 0, missed = 0;
  const std::optional<std::int64_t> expected = source->expected();
  const FrontEndSettings& settings = scenario.front_end;
  FrontEnd front_end(platform, *source, timeline, {settings.attempts_max, settings.retry_delay},
                     [&] {
                       ++ended;
                       const RequestRecord& record = timeline.requests().back();
                       if (options.observer != nullptr) options.observer->on_request_ended(record);
                       const bool is_good = record.status == RequestStatus::completed &&
                                            limits.is_met_by(record);
                       if (timeline.is_counted(record) && !is_good) ++missed;
                       if (options.misses_max && missed > *options.misses_max) platform.stop();
                       if (options.progress) options.progress({ended, expected, platform.now()});
                     });
  front_end.connect(pools.start(platform, timeline, front_end, options.observer));

  set_check_context([&] {
    return fmt::format("seed {}, {} on {}, simulated time {} s", scenario.run.seed,
                       scenario.model_name, scenario.cluster_name, platform.now().value());
  });
  Horizon horizon(platform);
  if (scenario.run.horizon) platform.at(*scenario.run.horizon, horizon, 0);
  pools.arm();
  front_end.start();
  platform.run();
  const bool is_given_up = options.misses_max && missed > *options.misses_max;
  if (!is_given_up && front_end.ended() == front_end.arrived()) pools.check_empty();
  const std::size_t ended_in_time = timeline.requests().size();
  front_end.close();
  for (std::size_t i = ended_in_time; i < timeline.requests().size(); ++i) {
    if (options.observer != nullptr) options.observer->on_request_ended(timeline.requests()[i]);
  }
  set_check_context({});

  FORETOKEN_CHECK(timeline.requests().size() == static_cast<std::size_t>(front_end.arrived()),
                  "{} requests arrived, {} were accounted for", front_end.arrived(),
                  timeline.requests().size());
  return summarize_run(
      scenario, {timeline, pools, platform.counters(), platform.now(), source->skipped_lines()});
}

void check_scenario(const Scenario& scenario, const Catalogs& catalogs) {
  const DeployedPools pools(scenario, catalogs);
}

std::unique_ptr<Predictor> make_predictor(const Registry<PredictorFactory>& predictors,
                                          const std::string& name, const SourcePosition& position) {
  VariantChoice choice{name};
  choice.position = position;
  return within_physics(make_variant(predictors, choice, "predictor"));
}

std::string version() { return FORETOKEN_VERSION; }

}  // namespace foretoken

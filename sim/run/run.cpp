#include "sim/run/run.hpp"

#include "sim/run/deployment.hpp"
#include "sim/run/summary.hpp"
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

/// Passes the end of a request on and reports progress.
class ProgressListener final : public ReplicaListener {
 public:
  ProgressListener(FrontEnd& front_end, const Platform& platform, const RunOptions& options,
                   std::optional<std::int64_t> expected)
      : front_end_(front_end), platform_(platform), options_(options), expected_(expected) {}

  void on_request_ended(const RequestRecord& record) override {
    front_end_.on_request_ended(record);
    if (options_.progress) options_.progress({front_end_.ended(), expected_, platform_.now()});
  }

 private:
  FrontEnd& front_end_;
  const Platform& platform_;
  const RunOptions& options_;
  std::optional<std::int64_t> expected_;
};

}  // namespace

Report run_scenario(const Scenario& scenario, const Catalogs& catalogs, const RunOptions& options) {
  DeployedEngine engine(scenario, catalogs);
  const auto source = scenario.workload->start(RandomStreams(scenario.run.seed));

  Platform platform(scenario.cluster);
  Timeline timeline(scenario.run.warmup);
  FrontEnd front_end(platform, *source, engine.make_router());
  ProgressListener listener(front_end, platform, options, source->expected());
  engine.start_replicas(platform, timeline, listener, options.observer);
  for (const auto& replica : engine.replicas()) front_end.add_replica(*replica);

  set_check_context([&] {
    return fmt::format("seed {}, {} on {}, simulated time {} s", scenario.run.seed,
                       scenario.model_name, scenario.cluster_name, platform.now().value());
  });
  Horizon horizon(platform);
  if (scenario.run.horizon) platform.at(*scenario.run.horizon, horizon, 0);
  front_end.start();
  platform.run();
  for (const auto& replica : engine.replicas()) replica->abandon();
  set_check_context({});

  FORETOKEN_CHECK(timeline.requests().size() == static_cast<std::size_t>(front_end.arrived()),
                  "{} requests arrived, {} were accounted for", front_end.arrived(),
                  timeline.requests().size());
  return summarize_run(
      scenario, {timeline, engine.totals(), engine.memory(), engine.kv_blocks(), engine.prefixes(),
                 platform.counters(), platform.now(), source->skipped_lines()});
}

std::unique_ptr<Predictor> make_predictor(const Registry<PredictorFactory>& predictors,
                                          const std::string& name, const SourcePosition& position) {
  Diagnostics diagnostics;
  const Value no_options;
  TableReader options(no_options, diagnostics, "predictor");
  auto predictor = predictors.find(name, position).make(options);
  diagnostics.throw_if_any();
  return predictor;
}

std::string version() { return FORETOKEN_VERSION; }

}  // namespace foretoken

#include "sim/library/foretoken.hpp"
#include "sim/processes/forking_runner.hpp"
#include "sim/report/figure_interval.hpp"
#include "sim/report/report_figure.hpp"
#include "sim/run/price_edge.hpp"

namespace foretoken {
namespace {

/// In a child: the figures of a run with all prices at an edge.
Value figures_at(const Scenario& scenario, const Catalogs& catalogs, PriceEdge edge) {
  ValueArray figures;
  for (const double value : interval_values(run_scenario(at_edge(scenario, edge), catalogs)))
    figures.emplace_back(value);
  Value answer;
  answer.set("figures", std::move(figures));
  return answer;
}

std::vector<double> figures_of(const RunOutcome& outcome) {
  if (outcome.status != RunStatus::ran)
    throw RunError("a run with prices at their edge: " + outcome.message);
  std::vector<double> figures;
  const Value& told = report_member(outcome.report, "figures");
  for (const Value& value : std::get<ValueArray>(told.data))
    figures.push_back(report_number(value));
  return figures;
}

}  // namespace

Report run_with_intervals(const Scenario& scenario, const Catalogs& catalogs,
                          const RunOptions& options) {
  if (scenario.run.intervals != IntervalSource::simulate)
    return run_scenario(scenario, catalogs, options);
  check_scenario(scenario, catalogs);
  constexpr PriceEdge edges[] = {PriceEdge::shortest, PriceEdge::longest};
  // A runner tells its runs apart by what they change; here that is the edge.
  ForkingRunner runner(std::size(edges), [&](const RunRequest& request) {
    return figures_at(scenario, catalogs, edges[std::stoul(request.overrides.front())]);
  });
  for (std::size_t i = 0; i < std::size(edges); ++i) runner.start(i, {{std::to_string(i)}});
  RunOptions here = options;
  here.progress = [&](const Progress& progress) {
    if (StopSignal::asked()) throw Interrupted();
    if (options.progress) options.progress(progress);
  };
  Report report = run_scenario(scenario, catalogs, here);
  std::vector<std::vector<double>> figures(std::size(edges));
  for (std::size_t i = 0; i < std::size(edges); ++i) {
    const auto finished = runner.wait();
    if (!finished) throw Interrupted();
    figures[finished->ticket] = figures_of(finished->outcome);
  }
  report.intervals = {true, intervals_over(interval_values(report), figures)};
  return report;
}

}  // namespace foretoken

#include "sim/library/foretoken.hpp"
#include "sim/processes/forked_jobs.hpp"
#include "sim/processes/start_gate.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/run_warnings.hpp"
#include "sim/run/price_edge.hpp"

namespace foretoken {
namespace {

/// The figures of a run, to the last bit.
struct EdgeFigures {
  std::vector<double> values;
};

}  // namespace

template <class Archive>
void members(Archive& a, EdgeFigures& edge) {
  a("values", edge.values);
}

Report run_with_intervals(const Scenario& scenario, const Catalogs& catalogs,
                          const RunOptions& options) {
  const IntervalSource source = scenario.run.intervals;
  if (source != IntervalSource::simulate && source != IntervalSource::automatic)
    return run_scenario(scenario, catalogs, options);
  check_scenario(scenario, catalogs);
  constexpr PriceEdge edges[] = {PriceEdge::shortest, PriceEdge::longest};
  // A process that has simulated has no children that could: they are there before, and wait.
  const StartGate gate;
  const auto let_in = [&] {
    for (std::size_t i = 0; i < std::size(edges); ++i) gate.let_one_in();
  };
  ForkedJobs<EdgeFigures> jobs(std::size(edges));
  for (std::size_t i = 0; i < std::size(edges); ++i) {
    jobs.start(i, [&] {
      gate.wait();
      return EdgeFigures{figure_values(run_scenario(at_edge(scenario, edges[i]), catalogs))};
    });
  }
  if (source == IntervalSource::simulate) let_in();
  RunOptions here = options;
  here.progress = [&](const Progress& progress) {
    if (StopSignal::asked()) throw Interrupted();
    if (options.progress) options.progress(progress);
  };
  Report report = run_scenario(scenario, catalogs, here);
  if (source == IntervalSource::automatic) {
    if (!is_at_edge(report)) return report;
    let_in();
  }
  std::vector<std::vector<double>> figures(std::size(edges));
  for (std::size_t i = 0; i < std::size(edges); ++i) {
    const auto finished = jobs.wait();
    if (!finished) throw Interrupted();
    if (finished->outcome.status != RunStatus::ran)
      throw RunError("a run with prices at their edge: " + finished->outcome.message);
    figures[finished->ticket] = finished->outcome.report.values;
  }
  report.intervals = {true, intervals_over(figure_values(report), figures)};
  return report;
}

}  // namespace foretoken

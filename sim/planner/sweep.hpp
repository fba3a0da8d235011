// Runs what is left of a sweep's plan, whoever else is at it: takes runs from the store, has them
// run, keeps what comes out. Ends when every run is finished, by whomever.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner/figure_columns.hpp"
#include "sim/planner/run_figures.hpp"
#include "sim/planner/run_store.hpp"
#include "sim/planner/seed_interval.hpp"
#include "sim/planner/sweep_plan.hpp"

namespace foretoken {

struct SweepHost {
  /// Waits so many seconds; false: the user asked to stop.
  std::function<bool(double seconds)> pause;
  /// Told when a run is over.
  std::function<void(const RunStore::Counts& counts)> progress;
};

/// Takes runs from `store` until all are finished. false: the user asked to stop; the leases are
/// given back then.
bool run_sweep(const SweepPlan& plan, ScenarioRunner& runner, RunStore& store,
               const SweepHost& host);

struct SweptRun {
  std::size_t run = 0;  // its number in the plan
  RunStatus status = RunStatus::ran;
  std::string message;                // why not
  std::optional<RunFigures> figures;  // if it ran
};

/// A figure's means by point that are best, and which points are within its interval.
struct BestPoint {
  std::string goal;
  std::size_t point = 0;
  std::vector<std::size_t> as_good;  // others whose intervals overlap
};

struct SweepResult {
  SweepPlan plan;
  std::vector<SweptRun> runs;  // the finished ones, in the plan's order
  std::vector<BestPoint> best;

  [[nodiscard]] bool is_complete() const { return runs.size() == plan.runs(); }
  /// Of the runs of `point` that ran; nullopt if none did.
  [[nodiscard]] std::optional<SeedInterval> interval(std::size_t point,
                                                     double (*figure)(const RunFigures&)) const;
  /// Calls `use` with the figures of each run of `point` that ran.
  void each_run(std::size_t point, const std::function<void(const RunFigures&)>& use) const;
  /// What the error of prices may make of the mean of a figure, by name; nullopt: not known.
  [[nodiscard]] std::optional<FigureInterval> price_interval(std::size_t point,
                                                             std::string_view name) const;
  /// Of 90 %, seeds and prices together; needs a price_interval().
  [[nodiscard]] FigureInterval interval_90(std::size_t point, const FigureColumn& column) const;
};

/// What the store holds.
SweepResult sweep_result(const SweepPlan& plan, RunStore& store);

/// The table a person reads, at most `width` columns and `rows_max` points.
std::string sweep_table(const SweepResult& result, bool colour, int width, std::size_t rows_max);
/// A line a run, in the plan's order.
std::string sweep_csv(const SweepResult& result);
/// Runs, points (means over seeds with intervals) and the best.
Value sweep_value(const SweepResult& result);
/// The HTML page. `scenario` is what all runs have in common, as TOML.
std::string sweep_page(const SweepResult& result, const std::string& title,
                       const std::string& scenario, const std::string& version);

}  // namespace foretoken

// What came of a sweep: its runs, means over seeds with intervals, which points are best.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner/run_store.hpp"
#include "sim/planner/side_by_side.hpp"
#include "sim/planner/sweep/seed_interval.hpp"
#include "sim/planner/sweep/sweep_plan.hpp"

namespace foretoken {

/// A run with its figures: of its report the rest is left out, as there may be a million of them.
struct SweptRun {
  std::size_t run = 0;  // its number in the plan
  RunOutcome outcome;
  std::string bound = {};  // bound_of(), if it ran

  /// nullptr if it did not run.
  [[nodiscard]] const Report* report() const {
    return outcome.status == RunStatus::ran ? &outcome.report : nullptr;
  }
};

struct SweepResult {
  SweepPlan plan;
  std::vector<SweptRun> runs;  // the finished ones, in the plan's order
  std::vector<BestRun> best;   // points, by their means; tied: their intervals overlap

  [[nodiscard]] bool is_complete() const { return runs.size() == plan.runs(); }
  /// Of the runs of `point` that ran and have the figure; nullopt if none does.
  [[nodiscard]] std::optional<SeedInterval> interval(std::size_t point, const Figure& figure,
                                                     double confidence = 0.95) const;
  /// Calls `use` with the report of each run of `point` that ran.
  void each_run(std::size_t point, const std::function<void(const Report&)>& use) const;
  /// What the error of prices may make of the mean of a figure; nullopt: not known.
  [[nodiscard]] std::optional<FigureInterval> price_interval(std::size_t point,
                                                             const Figure& figure) const;
  /// Of 90 %, seeds and prices together; needs a price_interval().
  [[nodiscard]] FigureInterval interval_90(std::size_t point, const Figure& figure) const;
};

/// What the store, which was told to want the plan's runs, holds. Without `goals` the usual ones.
SweepResult sweep_result(const SweepPlan& plan, RunStore& store,
                         const std::vector<const Figure*>& goals = {});

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

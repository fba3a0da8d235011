// What the table, the files and the page of a sweep say in the same words and columns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/planner/figure_columns.hpp"
#include "sim/planner/sweep.hpp"

namespace foretoken {

bool any_run(const SweepResult& result, const std::function<bool(const RunFigures&)>& is_so);
bool has_price(const RunFigures& figures);
/// USD for a million output tokens; NaN without a price.
double price_of(const RunFigures& figures);
/// The figures that the runs have: those of an SLO where there is one.
std::vector<FigureColumn> columns_of(const SweepResult& result);

/// The keys without their tables, where that leaves them different; "cluster" of cluster.name.
std::vector<std::string> labels_of(const SweepPlan& plan);
/// "rate 4 /s, tensor_parallel 2"
std::string point_text(const SweepPlan& plan, std::size_t point);
/// The same with the seed.
std::string run_text(const SweepPlan& plan, std::size_t run);
/// Of runs, "a · b · and 12 more"; a point whose runs are all there is named once, without seeds.
std::string list_text(const SweepPlan& plan, const std::vector<std::size_t>& runs,
                      std::size_t listed_max);

/// What the first of the point's runs that ran is bound by.
std::string bound_of(const SweepResult& result, std::size_t point);
/// Points of which something ran.
std::vector<std::size_t> points_that_ran(const SweepResult& result);

struct FailedRuns {
  std::string message;
  std::vector<std::size_t> runs;
};
/// Reasons why runs of a status have no figures, each with all runs that it holds for.
std::vector<FailedRuns> failed_runs(const SweepResult& result, RunStatus status);

}  // namespace foretoken

// What the table, the files and the page of a sweep say in the same words and columns.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/sweep/sweep.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

/// A row a run, for CSV, JSON and the page.
ResultTable run_columns(const SweepResult& result);
/// A row a point: means over its seeds, with what chance and prices leave open.
ResultTable point_columns(const SweepResult& result, const std::vector<std::size_t>& points,
                          const Ink& ink);

/// The keys without their tables, where that leaves them different; "cluster" of cluster.name.
std::vector<std::string> labels_of(const SweepPlan& plan);
/// Numbers and their unit of the key's values: as written if all have the same unit, else in the
/// base unit; none if they are no numbers.
void read_numbers(PageGrid::Key& key);

/// "rate 4 /s, tensor_parallel 2"
std::string point_text(const SweepPlan& plan, std::size_t point);
/// The same with the seed.
std::string run_text(const SweepPlan& plan, std::size_t run);
/// Of runs, "a · b · and 12 more"; a point whose runs are all there is named once, without seeds.
std::string list_text(const SweepPlan& plan, const std::vector<std::size_t>& runs,
                      std::size_t listed_max);

/// Points of which something ran.
std::vector<std::size_t> points_that_ran(const SweepResult& result);

/// Reasons why runs of a status have no figures, each with all runs that it holds for.
std::vector<ReasonGroup<std::size_t>> failed_runs(const SweepResult& result, RunStatus status);

}  // namespace foretoken

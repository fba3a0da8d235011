// The choices of a plan as a table: what its terminal, its files and its page say of each; and
// columns that tables of highest loads share.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/plan/plan.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/report/result_table.hpp"

namespace foretoken {

/// A row for each of `candidates`, in their order. Those that do not hold have a fate and a reason
/// and no figures.
ResultTable plan_columns(const Plan& plan, const std::vector<std::size_t>& candidates,
                         const Ink& ink);

/// What came out for a candidate, in one or two words: "cheapest", "as good", "front", "holds", or
/// its fate.
std::string verdict_of(const Plan& plan, std::size_t candidate);
/// USD for a million output tokens, of one that holds.
double dollars_per_million(const Plan& plan, std::size_t candidate);

/// The keys that choices differ by; a row has a `candidate`.
template <class Rows>
void add_choices(ResultTable& table, const PlanSpace& space, const Rows& rows, bool in_files) {
  for (std::size_t a = 0; a < space.axes.size(); ++a) {
    const std::string& label = space.axes[a].label;
    ResultColumn column{in_files ? space.axes[a].key : "", label, "", label, ResultKind::key};
    column.group = "choice";
    table.add(column, rows, [&](const auto& row) { return row.candidate.values[a]; });
  }
}

/// Of the figure `m` of figures() a column with `cell_of(row, m)`: all planned ones in files, with
/// `on_page` those that stand beside other runs' on the page, too.
template <class Rows, class CellOf>
void add_metrics(ResultTable& table, const Rows& rows, const CellOf& cell_of,
                 const std::function<bool(const Figure&)>& on_page) {
  for (std::size_t m = 0; m < figures().size(); ++m) {
    if (!is_planned(figures()[m])) continue;
    ResultColumn column = ResultColumn::of_figure(figures()[m]);
    column.group = "metrics";
    column.header = "";
    if (!on_page(figures()[m])) column.title = "";
    table.add(std::move(column), rows, [&](const auto& row) { return cell_of(row, m); });
  }
}
/// The same of one figure in the terminal, by its name; `is_bounded`: with its interval.
template <class Rows, class CellOf>
void add_metric_in_terminal(ResultTable& table, const Rows& rows, const CellOf& cell_of,
                            const std::string& name, bool is_bounded = false) {
  const std::size_t m = figure_index(name);
  ResultColumn column{"", "", "", figures()[m].title, ResultKind::number};
  column.is_bounded = is_bounded;
  table.add(std::move(column), rows, [&](const auto& row) { return cell_of(row, m); });
}

}  // namespace foretoken

// Which layout? Runs every one that was asked for, each in a process of its own, and sets their
// figures side by side; says why a layout cannot be and which one is best by each goal.
#pragma once

#include <string>
#include <vector>

#include "sim/planner/layout_choices.hpp"
#include "sim/planner/side_by_side.hpp"
#include "sim/planner/wanted_runs.hpp"

namespace foretoken {

struct ComparedLayout {
  Layout layout;
  RunOutcome outcome;

  /// nullptr if it did not run.
  [[nodiscard]] const Report* report() const {
    return outcome.status == RunStatus::ran ? &outcome.report : nullptr;
  }
};

struct Comparison {
  std::vector<LayoutChoice> choices;
  std::vector<ComparedLayout> rows;  // those that finished, in the order of combinations()
  std::vector<BestRun> best;
  bool is_complete = true;  // false: stopped by the user

  /// Of the rows, nullptr where one did not run.
  [[nodiscard]] std::vector<const Report*> reports() const;
};

/// Rows that `store` holds already are not run again; each new one goes into it at once. Without
/// `goals` the usual ones.
Comparison compare_layouts(std::vector<LayoutChoice> choices, ScenarioRunner& runner,
                           RunStore& store, const RunOwner& owner, const RunHost& host,
                           const std::vector<const Figure*>& goals = {});

/// The best row by each goal, and its ties (are_tied()). Only runs that neither failed nor rejected
/// a request count: what is left of the traffic is easier to serve. Clients who gave up do not rule
/// a run out. If any row meets an SLO, only such rows are among the best. Of equal rows the first
/// stands for them.
std::vector<BestRun> best_layouts(const std::vector<ComparedLayout>& rows,
                                  const std::vector<const Figure*>& goals);

/// "TP 4, PP 2": what is particular about a row.
std::string layout_text(const Comparison& comparison, const ComparedLayout& row);
/// The page that `--report` writes. Throws ConfigError in a build that draws no charts.
std::string comparison_page(const Comparison& comparison, const std::string& title,
                            const std::string& version);
/// The table a person reads, at most `width` columns.
std::string comparison_table(const Comparison& comparison, bool colour, int width);
/// compare.csv: a line a layout, infeasible ones with their reason.
std::string comparison_csv(const Comparison& comparison);
/// compare.json's object.
Value comparison_value(const Comparison& comparison);

}  // namespace foretoken

// Which layout? Runs every one that was asked for, each in a process of its own, and sets their
// figures side by side; says why a layout cannot be and which one is best by each goal.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/planner/layout_choices.hpp"
#include "sim/planner/row_store.hpp"
#include "sim/planner/run_figures.hpp"

namespace foretoken {

struct ComparedLayout {
  Layout layout;
  RunOutcome outcome;
  std::optional<RunFigures> figures;  // if it ran
};

/// "lowest TTFT p99" and the row that has it, and those that nobody can tell from it.
struct BestLayout {
  std::string goal;
  std::size_t row = 0;
  std::vector<std::size_t> ties = {};

  [[nodiscard]] bool has(std::size_t other) const;
};

struct Comparison {
  std::vector<LayoutChoice> choices;
  std::vector<ComparedLayout> rows;  // those that finished, in the order of combinations()
  std::vector<BestLayout> best;
  bool is_complete = true;  // false: stopped by the user

  /// Whether any row's figures have an interval.
  [[nodiscard]] bool has_intervals() const;
};

/// Told when a run is over: how many are, and how many there are.
using CompareProgress = std::function<void(std::size_t finished, std::size_t wanted)>;

/// Rows that `store` holds already are not run again; each new one goes into it at once.
Comparison compare_layouts(std::vector<LayoutChoice> choices, ScenarioRunner& runner,
                           RowStore& store, const CompareProgress& progress);

/// The best row by each goal, and its ties (are_tied()). Only runs that neither failed nor rejected
/// a request count: what is left of the traffic is easier to serve. Clients who gave up do not rule
/// a run out. With an SLO the goals that count it come too, and if any row meets it, only such rows
/// are among the best. Of equal rows the first stands for them.
std::vector<BestLayout> best_layouts(const std::vector<ComparedLayout>& rows);

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

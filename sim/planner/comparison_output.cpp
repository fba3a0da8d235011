// A comparison as a table for the terminal, as CSV and as JSON. The table names what did not run
// below the ones that did, with its reason in full: that is what one has to act on.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/csv_cell.hpp"
#include "sim/planner/choice_text.hpp"
#include "sim/planner/compare.hpp"
#include "sim/planner/figure_columns.hpp"
#include "sim/planner/goals.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

bool any_slo(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows,
                             [](const auto& row) { return row.figures && row.figures->has_slo; });
}

bool any_price(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const auto& row) {
    return row.figures && row.figures->dollars_per_million;
  });
}

std::vector<FigureColumn> columns_of(const Comparison& comparison) {
  std::vector<FigureColumn> all(figure_columns().begin(), figure_columns().end());
  if (any_slo(comparison))
    all.insert(all.end(), slo_figure_columns().begin(), slo_figure_columns().end());
  return all;
}

/// " ±4.2": half the width of what prices may make of a latency, which is what they move most.
std::string give_or_take(const RunFigures& figures, const FigureColumn& column) {
  const auto interval = interval_of(figures, column.name);
  if (!interval || !column.name.ends_with("_ms")) return "";
  return " ±" + brief((interval->high - interval->low) / 2);
}

/// The number that "auto" turned out to be, where it ran.
std::string value_text(const ComparedLayout& row, std::size_t choice) {
  const std::string& value = row.layout.values[choice];
  if (value != "auto" || !row.figures) return value;
  return fmt::format("{}", row.figures->replicas);
}

TextTable table_of_runs(const Comparison& comparison, bool colour, bool with_prices) {
  std::vector<FigureColumn> shown;
  for (const FigureColumn& column : columns_of(comparison)) {
    if (!column.header.empty()) shown.push_back(column);
  }
  const bool priced = any_price(comparison), judged = any_slo(comparison);
  const Ink ink(colour);
  std::vector<TextColumn> headers;
  for (const LayoutChoice& choice : comparison.choices) {
    headers.push_back({choice.label, Align::right});
  }
  if (judged) headers.push_back({"SLO met", Align::right});
  for (const FigureColumn& column : shown)
    headers.push_back({std::string(column.header), Align::right});
  if (priced) headers.push_back({"$/M tok", Align::right});
  headers.push_back({"bound by"});
  headers.push_back({""});
  const auto prices_of = [&](const RunFigures& figures, const FigureColumn& column) {
    return with_prices ? give_or_take(figures, column) : "";
  };
  TextTable table(std::move(headers));
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparedLayout& row = comparison.rows[i];
    if (!row.figures) continue;
    std::vector<std::string> cells;
    for (std::size_t c = 0; c < comparison.choices.size(); ++c) {
      cells.push_back(value_text(row, c));
    }
    if (judged) {
      cells.push_back(fmt::format("{} {}", percent(row.figures->attainment),
                                  row.figures->slo_met ? ink.good("✓") : ink.bad("✗")));
    }
    for (const FigureColumn& column : shown) {
      const double value = column.value(*row.figures);
      cells.push_back(column.is_count ? fmt::format("{:.0f}", value)
                                      : brief(value) + prices_of(*row.figures, column));
    }
    if (priced) {
      const auto dollars = row.figures->dollars_per_million;
      cells.push_back(dollars ? fmt::format("{:.2f}", *dollars) : "");
    }
    cells.push_back(row.figures->bound);
    const auto stars =
        std::ranges::count_if(comparison.best, [&](const BestLayout& best) { return best.has(i); });
    cells.push_back(stars > 0 ? ink.good(repeated("★", static_cast<int>(stars))) : "");
    table.add_row(std::move(cells));
  }
  return table;
}

/// What prices may make of latencies stands beside them if there is room, else below.
std::string runs_text(const Comparison& comparison, bool colour, int width) {
  const Ink ink(colour);
  const TextTable::Layout layout{
      .width = width, .colour = colour, .kept = comparison.choices.size()};
  const TextTable plain = table_of_runs(comparison, colour, false);
  const TextTable full = table_of_runs(comparison, colour, true);
  const bool fits = full.natural_width(layout) <= width;
  std::string text = (fits ? full : plain).text(layout);
  text += ink.quiet(
      fmt::format("  latencies in ms · output tokens{} per second · $ per million output tokens\n",
                  any_slo(comparison) ? " and requests within the SLO" : ""));
  if (!comparison.has_intervals()) return text;
  std::vector<const RunFigures*> runs;
  for (const ComparedLayout& row : comparison.rows) {
    if (row.figures) runs.push_back(&*row.figures);
  }
  const std::string likely =
      fmt::format("what the error of prices may make of it ({:.0f} %)", 100 * interval_confidence);
  return text +
         ink.quiet(fits ? fmt::format("  ± {}; rows whose intervals overlap share a ★\n", likely)
                        : fmt::format("  {}: {}\n", likely,
                                      interval_ranges(columns_of(comparison), runs)));
}

/// Rows that look better than they are, because they served only a part of the traffic.
std::string unserved_text(const Comparison& comparison, const Ink& ink) {
  std::string text;
  for (const ComparedLayout& row : comparison.rows) {
    if (!row.figures) continue;
    for (const std::string& loss : losses(*row.figures)) {
      text += fmt::format("  {} {}: {}\n", ink.warning("!"), layout_text(comparison, row), loss);
    }
  }
  return text;
}

/// Which rows the stars leave out, if any.
std::string slo_note(const Comparison& comparison, const Ink& ink) {
  if (!any_slo(comparison)) return "";
  std::size_t met = 0, ran = 0;
  for (const ComparedLayout& row : comparison.rows) {
    if (!row.figures) continue;
    ++ran;
    met += row.figures->slo_met ? 1 : 0;
  }
  if (met == ran) return "";
  return ink.quiet(met == 0 ? "  no row meets the SLO\n"
                            : "  ★ is given among the rows that meet the SLO\n");
}

/// The reasons why layouts cannot be, each with all layouts it holds for.
std::string impossible_text(const Comparison& comparison, const Ink& ink) {
  std::vector<std::pair<std::string, std::string>> reasons;  // message, layouts
  for (const ComparedLayout& row : comparison.rows) {
    if (row.figures) continue;
    const auto known = std::ranges::find(reasons, row.outcome.message,
                                         [](const auto& reason) { return reason.first; });
    if (known == reasons.end()) {
      reasons.emplace_back(row.outcome.message, layout_text(comparison, row));
    } else {
      known->second += " · " + layout_text(comparison, row);
    }
  }
  if (reasons.empty()) return "";
  std::string text = fmt::format("\n  {}\n", ink.strong("not possible"));
  for (const auto& [message, layouts] : reasons) {
    text += fmt::format("  {} {}: {}\n", ink.bad("✗"), layouts, message);
  }
  return text;
}

}  // namespace

std::string layout_text(const Comparison& comparison, const ComparedLayout& row) {
  std::string text;
  for (std::size_t i = 0; i < comparison.choices.size(); ++i) {
    text +=
        fmt::format("{}{} {}", i > 0 ? ", " : "", comparison.choices[i].label, value_text(row, i));
  }
  return text;
}

std::string comparison_table(const Comparison& comparison, bool colour, int width) {
  const Ink ink(colour);
  std::string text = runs_text(comparison, colour, width);
  text += unserved_text(comparison, ink);
  if (!comparison.best.empty()) text += '\n';
  for (const BestLayout& best : comparison.best) {
    std::string rows = layout_text(comparison, comparison.rows[best.row]);
    for (const std::size_t row : best.ties)
      rows += " · " + layout_text(comparison, comparison.rows[row]);
    text += wrapped(fmt::format("{} {:<28}{}", ink.good("★"), best.goal, rows), width, 2, 32);
  }
  text += slo_note(comparison, ink);
  text += impossible_text(comparison, ink);
  return text;
}

std::string comparison_csv(const Comparison& comparison) {
  const std::vector<FigureColumn> figures = columns_of(comparison);
  std::string text;
  for (const LayoutChoice& choice : comparison.choices) text += choice.key + ',';
  text += "status";
  for (const FigureColumn& column : figures) text += fmt::format(",{}", column.name);
  text += ",dollars_per_million_output_tokens";
  text += any_slo(comparison) ? ",slo_met" : "";
  text += ",bound,best,reason";
  const bool has_intervals = comparison.has_intervals();
  text += (has_intervals ? interval_headers(figures) : "") + '\n';
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparedLayout& row = comparison.rows[i];
    for (const std::string& value : row.layout.values) text += csv_cell(value) + ',';
    text += enum_name(row.outcome.status);
    for (const FigureColumn& column : figures) {
      text += ',';
      if (row.figures) text += fmt::format("{}", rounded(column.value(*row.figures)));
    }
    text += ',';
    if (row.figures && row.figures->dollars_per_million) {
      text += fmt::format("{}", *row.figures->dollars_per_million);
    }
    if (any_slo(comparison)) text += !row.figures ? "," : row.figures->slo_met ? ",yes" : ",no";
    std::string best;
    for (const BestLayout& goal : comparison.best) {
      if (goal.has(i)) best += (best.empty() ? "" : "; ") + goal.goal;
    }
    text += fmt::format(
        ",{},{},{}{}\n", row.figures ? csv_cell(row.figures->bound) : "", csv_cell(best),
        csv_cell(row.outcome.message),
        has_intervals ? interval_cells(figures, row.figures ? &*row.figures : nullptr) : "");
  }
  return text;
}

Value comparison_value(const Comparison& comparison) {
  const std::vector<FigureColumn> figures = columns_of(comparison);
  ValueArray rows;
  for (const ComparedLayout& row : comparison.rows) {
    Value layout;
    for (std::size_t i = 0; i < comparison.choices.size(); ++i) {
      layout.set(comparison.choices[i].key, row.layout.values[i]);
    }
    Value value;
    value.set("layout", layout);
    value.set("status", std::string(enum_name(row.outcome.status)));
    if (!row.outcome.message.empty()) value.set("reason", row.outcome.message);
    if (row.figures) {
      for (const FigureColumn& column : figures) {
        value.set(column.name, rounded(column.value(*row.figures)));
      }
      if (row.figures->dollars_per_million) {
        value.set("dollars_per_million_output_tokens", *row.figures->dollars_per_million);
      }
      if (row.figures->has_slo) value.set("slo_met", row.figures->slo_met);
      value.set("bound", row.figures->bound);
      set_intervals(figures, *row.figures, value);
    }
    rows.emplace_back(std::move(value));
  }
  ValueArray best;
  for (const BestLayout& goal : comparison.best) {
    ValueArray ties;
    for (const std::size_t row : goal.ties) ties.emplace_back(static_cast<std::int64_t>(row));
    best.emplace_back(ValueObject{{"goal", goal.goal},
                                  {"row", static_cast<std::int64_t>(goal.row)},
                                  {"ties", std::move(ties)}});
  }
  return ValueObject{
      {"complete", comparison.is_complete}, {"rows", std::move(rows)}, {"best", std::move(best)}};
}

}  // namespace foretoken

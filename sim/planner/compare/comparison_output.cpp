// A comparison as a table for the terminal, as CSV and as JSON. The table names what did not run
// below the ones that did, with its reason in full: that is what one has to act on.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/planner/choice_text.hpp"
#include "sim/planner/compare/compare.hpp"
#include "sim/planner/compare/comparison_columns.hpp"
#include "sim/report/number_text.hpp"

namespace foretoken {
namespace {

/// The number that "auto" turned out to be, where it ran.
std::string value_text(const ComparedLayout& row, std::size_t choice) {
  const std::string& value = row.layout.values[choice];
  if (value != "auto" || row.report() == nullptr) return value;
  return fmt::format("{}", figure_named("replicas").value(*row.report()));
}

bool any_slo(const Comparison& comparison) {
  return std::ranges::any_of(comparison.rows, [](const ComparedLayout& row) {
    return row.report() != nullptr && !row.report()->slo.targets.empty();
  });
}

/// A column of texts of each row.
template <class TextOf>
std::vector<std::string> texts(const Comparison& comparison, const TextOf& text_of) {
  std::vector<std::string> all;
  for (const ComparedLayout& row : comparison.rows) all.push_back(text_of(row));
  return all;
}

void add_verdicts(ResultTable& table, const Comparison& comparison, const Ink& ink) {
  if (!any_slo(comparison)) return;
  ResultColumn terminal =
      ResultColumn::of_texts("", "", "SLO met", texts(comparison, [&](const ComparedLayout& row) {
                               if (row.report() == nullptr) return std::string();
                               const Report::Slo& slo = row.report()->slo;
                               return fmt::format("{} % {}", attained(slo.attainment),
                                                  slo.met ? ink.good("✓") : ink.bad("✗"));
                             }));
  terminal.is_right = true;
  table.columns.push_back(std::move(terminal));
}

void add_met(ResultTable& table, const Comparison& comparison) {
  if (!any_slo(comparison)) return;
  ResultColumn met{"slo_met"};
  met.kind = ResultKind::flag;
  for (const Report* report : comparison.reports()) {
    ResultCell& cell = met.cells.emplace_back();
    if (report != nullptr) cell.number = report->slo.met ? 1 : 0;
  }
  table.columns.push_back(std::move(met));
  table.columns.push_back(ResultColumn::of_texts(
      "", "SLO", "", texts(comparison, [](const ComparedLayout& row) {
        return row.report() == nullptr ? std::string() : row.report()->slo.met ? "met" : "missed";
      })));
}

/// On the page, where there is room.
void add_failed(ResultTable& table, const Comparison& comparison) {
  ResultColumn failed{"", "failed", "requests"};
  failed.kind = ResultKind::count;
  for (const Report* report : comparison.reports()) {
    ResultCell& cell = failed.cells.emplace_back();
    if (report != nullptr) cell.number = static_cast<double>(report->requests.failed);
  }
  table.columns.push_back(std::move(failed));
}

/// Which rows the stars leave out, if any.
std::string slo_note(const Comparison& comparison, const Ink& ink) {
  if (!any_slo(comparison)) return "";
  std::size_t met = 0, ran = 0;
  for (const Report* report : comparison.reports()) {
    if (report == nullptr) continue;
    ++ran;
    met += report->slo.met ? 1 : 0;
  }
  if (met == ran) return "";
  return ink.quiet(met == 0 ? "  no row meets the SLO\n"
                            : "  ★ considers only rows that meet the SLO\n");
}

/// The reasons why layouts cannot be, each with all layouts it holds for.
std::string impossible_text(const Comparison& comparison, const Ink& ink) {
  std::vector<ReasonGroup<std::string>> reasons;
  for (const ComparedLayout& row : comparison.rows) {
    if (row.report() == nullptr)
      add_reason(reasons, row.outcome.message, layout_text(comparison, row));
  }
  const auto list = [](const std::vector<std::string>& layouts) {
    return fmt::format("{}", fmt::join(layouts, " · "));
  };
  return reasons_text("not possible", reasons, list, ink);
}

/// What prices may make of latencies stands beside them if there is room, else below.
std::string runs_text(const Comparison& comparison, bool colour, int width) {
  const Ink ink(colour);
  const ResultTable table = comparison_columns(comparison, ink);
  const ResultTable::Fitted fitted = table.fitted(" ±", colour, width, [&](std::size_t row) {
    return comparison.rows[row].report() != nullptr;
  });
  const std::string text = fitted.text + ink.quiet(units_note(any_slo(comparison)));
  if (!table.has_prices()) return text;
  return text + ink.quiet(prices_note(fitted, "±", "; rows whose intervals overlap share a ★",
                                      table.price_ranges()));
}

}  // namespace

ResultTable comparison_columns(const Comparison& comparison, const Ink& ink) {
  ResultTable table;
  for (std::size_t i = 0; i < comparison.choices.size(); ++i) {
    const LayoutChoice& choice = comparison.choices[i];
    ResultColumn column = ResultColumn::of_keys(
        choice.key, choice.label,
        texts(comparison, [&](const ComparedLayout& row) { return row.layout.values[i]; }));
    column.group = "layout";
    // Files say what was asked for; a reader wants to know what "auto" came to.
    for (std::size_t row = 0; row < comparison.rows.size(); ++row)
      column.cells[row].shown = value_text(comparison.rows[row], i);
    table.columns.push_back(std::move(column));
  }
  table.columns.push_back(ResultColumn::of_texts(
      "status", "status", "", texts(comparison, [](const ComparedLayout& row) {
        return std::string(enum_name(row.outcome.status));
      })));
  add_verdicts(table, comparison, ink);
  add_figures(table, comparison.reports(), asked_figures(comparison.best));
  add_met(table, comparison);
  add_failed(table, comparison);
  table.columns.push_back(ResultColumn::of_texts(
      "bound", "bound by", "bound by", texts(comparison, [](const ComparedLayout& row) {
        return row.report() == nullptr ? std::string() : bound_of(*row.report());
      })));
  std::vector<std::size_t> places(comparison.rows.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  table.add({"", "", "", " "}, places,
            [&](std::size_t row) { return stars_of(comparison.best, row, true, ink); });
  table.add({"best", "best by"}, places,
            [&](std::size_t row) { return goals_of(comparison.best, row, "; ", true); });
  table.columns.push_back(ResultColumn::of_texts(
      "reason", "reason", "",
      texts(comparison, [](const ComparedLayout& row) { return row.outcome.message; })));
  return table;
}

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
  const auto name_of = [&](const ComparedLayout& row) { return layout_text(comparison, row); };
  text += losses_text(comparison.rows, name_of, comparison.rows.size() * 3, ink);
  if (!comparison.best.empty()) text += '\n';
  for (const BestRun& best : comparison.best) {
    std::string rows = layout_text(comparison, comparison.rows[best.place]);
    for (const std::size_t row : best.ties)
      rows += " · " + layout_text(comparison, comparison.rows[row]);
    text += wrapped(fmt::format("{} {:<28}{}", ink.good("★"), best.goal(), rows), width, 2, 32);
  }
  text += slo_note(comparison, ink);
  text += impossible_text(comparison, ink);
  return text;
}

std::string comparison_csv(const Comparison& comparison) {
  return comparison_columns(comparison, Ink(false)).csv();
}

Value comparison_value(const Comparison& comparison) {
  return ValueObject{{"complete", comparison.is_complete},
                     {"rows", comparison_columns(comparison, Ink(false)).json()},
                     {"best", best_value(comparison.best, "row", "ties")}};
}

}  // namespace foretoken

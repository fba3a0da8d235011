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
  const std::string text = fitted.text + ink.quiet(units_note(table));
  if (!table.has_prices()) return text;
  return text + ink.quiet(prices_note(fitted, "±", "; rows whose intervals overlap share a ★",
                                      table.price_ranges()));
}

}  // namespace

ResultTable comparison_columns(const Comparison& comparison, const Ink& ink) {
  using enum ResultKind;
  using Row = const ComparedLayout&;
  ResultTable table;
  const ColumnsOf add(table, comparison.rows);
  // Of a row that ran; else nothing.
  const auto add_of_report = [&](ResultColumn column, const auto& content_of) {
    add(std::move(column), [&](Row row) {
      return row.report() != nullptr ? ResultCell::of(content_of(*row.report())) : ResultCell();
    });
  };
  for (std::size_t i = 0; i < comparison.choices.size(); ++i) {
    const LayoutChoice& choice = comparison.choices[i];
    ResultColumn column{choice.key, choice.label, "", choice.label, key};
    column.group = "layout";
    // Files say what was asked for; a reader wants to know what "auto" came to.
    add(std::move(column), [&](Row row) {
      return ResultCell{.text = row.layout.values[i], .shown = value_text(row, i)};
    });
  }
  add({"status", "status"}, [](Row row) { return enum_name(row.outcome.status); });
  const bool has_slo = any_slo(comparison);
  if (has_slo) {
    ResultColumn verdict{"", "", "", "SLO met"};
    verdict.is_right = true;
    add_of_report(std::move(verdict), [&](const Report& report) {
      return fmt::format("{} % {}", attained(report.slo.attainment),
                         report.slo.met ? ink.good("✓") : ink.bad("✗"));
    });
  }
  add_figures(table, comparison.reports(), asked_figures(comparison.best));
  if (has_slo) {
    add_of_report({"slo_met", "", "", "", flag},
                  [](const Report& report) { return report.slo.met; });
    add_of_report({"", "SLO"},
                  [](const Report& report) { return report.slo.met ? "met" : "missed"; });
  }
  // On the page, where there is room.
  add_of_report({"", "failed", "requests", "", count},
                [](const Report& report) { return report.requests.failed; });
  add_of_report({"bound", "bound by", "", "bound by"}, bound_of);
  std::vector<std::size_t> places(comparison.rows.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  table.add({"", "", "", " "}, places,
            [&](std::size_t row) { return stars_of(comparison.best, row, true, ink); });
  table.add({"best", "best by"}, places,
            [&](std::size_t row) { return goals_of(comparison.best, row, "; ", true); });
  add({"reason", "reason"}, [](Row row) { return row.outcome.message; });
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

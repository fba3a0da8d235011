// Highest loads as a table for the terminal, as CSV and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/planner/choice_text.hpp"
#include "sim/planner/plan/max_load_columns.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/command_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

/// In the order of the choices, each as it is, then with each change.
std::vector<LoadRow> all_rows(const MaxLoad& answer) {
  std::vector<LoadRow> rows;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    rows.push_back({i});
    for (std::size_t c = 0; c < answer.rows[i].changed.size(); ++c) rows.push_back({i, c});
  }
  return rows;
}

/// Those with this change, or as they are, that hold any load as they are.
std::vector<LoadRow> holding_rows(const MaxLoad& answer, std::optional<std::size_t> change) {
  std::vector<LoadRow> rows;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const MaxLoadRow& row = answer.rows[i];
    if (row.base.metrics.empty() || (change && row.changed.size() <= *change)) continue;
    rows.push_back({i, change});
  }
  return rows;
}

std::string table_of_changes(const MaxLoad& answer, const Ink& ink, bool colour, int width) {
  std::vector<LoadRow> rows;
  for (std::size_t c = 0; c < answer.changes.size(); ++c)
    std::ranges::move(holding_rows(answer, c), std::back_inserter(rows));
  return fmt::format(
      "\n  {}\n{}", ink.strong("what other hardware is worth"),
      load_columns(answer, rows, LoadView::changes, ink).fitted("", colour, width).text);
}

}  // namespace

std::string max_load_table(const MaxLoad& answer, const std::string& scenario, bool colour,
                           int width) {
  const Ink ink(colour);
  std::string text = question_text(answer.space, answer.settings, width, false) + '\n';
  text += load_columns(answer, holding_rows(answer, std::nullopt), LoadView::loads, ink)
              .fitted("", colour, width)
              .text;
  text += ink.quiet(wrapped(
      fmt::format("★ most requests per dollar · highest load that meets the SLO, to within {}; "
                  "in brackets the interval (search and kernel-price error) · "
                  "latencies in ms at that load{} · $ per million output tokens",
                  percent(answer.settings.tolerance),
                  answer.settings.replications.most > 1
                      ? ", means over seeds (the command below runs the first)"
                      : ""),
      width, 2, 2));
  if (!answer.space.traffic.models.empty()) {
    text += fmt::format(
        "\n  {}\n{}", ink.strong("each model at that load"),
        model_columns(answer, holding_rows(answer, std::nullopt)).fitted("", colour, width).text);
  }
  if (answer.is_complete && !answer.changes.empty()) {
    text += table_of_changes(answer, ink, colour, width);
    text += ink.quiet(wrapped(fmt::format("differences below {} are within the search tolerance · "
                                          "worth: the GPU price at which tokens cost the same",
                                          percent(answer.settings.tolerance)),
                              width, 2, 2));
  }
  std::string problems;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const LoadAnswer& base = answer.rows[i].base;
    const std::string burst = base.is_open ? "" : burst_text(base);
    const std::string why = base.is_open     ? stop_text(base)
                            : !burst.empty() ? burst
                                             : why_no_load(base);
    if (why.empty()) continue;
    const std::string choice = choice_text(answer.space.axes, answer.candidate_of(i).values);
    problems += wrapped(fmt::format("{} {}{}",
                                    base.is_open     ? ink.quiet("…")
                                    : !burst.empty() ? ink.warning("!")
                                                     : ink.bad("✗"),
                                    choice.empty() ? "" : choice + ": ", why),
                        width, 2, 4);
  }
  if (!problems.empty()) text += '\n' + problems;
  text += fmt::format("\n  {}\n", counted(static_cast<std::int64_t>(answer.runs), "run"));
  if (answer.run.empty()) return text;
  text += wrapped(answer.rows[*answer.best].base.is_open ? "the best at the load that it holds:"
                                                         : "the best at its highest load:",
                  width, 2, 2);
  return text +
         ink.quiet(command_lines(command_words(answer.overrides, answer.run, scenario), width, 4));
}

std::string max_load_csv(const MaxLoad& answer) {
  return load_columns(answer, all_rows(answer), LoadView::files, Ink(false)).csv();
}

namespace {

/// Each of `of` as an object, with what its models have of it.
ValueArray load_values(const MaxLoad& answer, const std::vector<LoadRow>& of, LoadView view) {
  ValueArray values = load_columns(answer, of, view, Ink(false)).json();
  for (std::size_t i = 0; i < of.size(); ++i) {
    ValueArray models = model_columns(answer, {of[i]}).json();
    if (models.empty()) continue;
    values[i].set("models", std::move(models));
    values[i].set("first_to_miss", load_of(answer, of[i]).tightest()->name);
  }
  return values;
}

}  // namespace

Value max_load_value(const MaxLoad& answer) {
  ValueArray rows;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    Value& row = rows.emplace_back(load_values(answer, {{i}}, LoadView::loads).front());
    std::vector<LoadRow> changes;
    for (std::size_t c = 0; c < answer.rows[i].changed.size(); ++c) changes.push_back({i, c});
    ValueArray changed = load_values(answer, changes, LoadView::changes);
    if (!changed.empty()) row.set("changed", std::move(changed));
  }
  Value value = ValueObject{{"complete", answer.is_complete},
                            {"confidence", rounded(answer.settings.confidence)},
                            {"runs", static_cast<std::int64_t>(answer.runs)}};
  if (answer.best) {
    value.set("best", static_cast<std::int64_t>(*answer.best));
    ValueArray keys;
    for (const std::string& key : texts_of(answer.run)) keys.emplace_back(key);
    value.set("set", std::move(keys));
  }
  value.set("rows", std::move(rows));
  return value;
}

}  // namespace foretoken

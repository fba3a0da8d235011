// Highest loads as a table for the terminal, as CSV and as JSON.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "sim/base/csv_cell.hpp"
#include "sim/planner/choice_text.hpp"
#include "sim/planner/plan/max_load.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

int replicas_of(const MaxLoad& answer, std::size_t row) {
  int sum = 0;
  for (const auto& [key, count] : answer.space.keys[answer.rows[row].candidate].replicas)
    sum += count;
  return sum;
}

std::string signed_percent(double share) {
  return fmt::format("{}{:.1f} %", share < 0 ? "−" : "+", 100 * std::abs(share));
}

std::string dollars(double value) {
  return value < std::numeric_limits<double>::infinity() ? fmt::format("{:.2f}", value) : "";
}

std::string table_of_loads(const MaxLoad& answer, const Ink& ink, bool colour, int width) {
  std::vector<TextColumn> headers = {{""}};
  for (const LayoutChoice& axis : answer.space.axes) headers.push_back({axis.label, Align::right});
  for (const char* header :
       {"rep", "GPUs", "$/h", "holds /s", "/GPU", "$/M tok", "E2E p50", "TTFT p99", "TPOT p99"}) {
    headers.push_back({header, Align::right});
  }
  TextTable table(std::move(headers));
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const LoadAnswer& base = answer.rows[i].base;
    if (base.metrics.empty()) continue;
    const PlanCandidate& candidate = answer.candidate_of(i);
    std::vector<std::string> cells = {answer.best == i ? ink.good("★") : ""};
    cells.insert(cells.end(), candidate.values.begin(), candidate.values.end());
    cells.push_back(fmt::format("{}", replicas_of(answer, i)));
    cells.push_back(fmt::format("{}", candidate.unit_gpus));
    cells.push_back(fmt::format("{:.2f}", candidate.unit_dollars_per_hour));
    cells.push_back(fmt::format("{} ({}–{})", brief(base.holds), brief(base.interval.low),
                                brief(base.interval.high)));
    cells.push_back(brief(base.holds / candidate.unit_gpus));
    cells.push_back(dollars(answer.dollars_per_million(i, base)));
    for (const char* metric : {"e2e_p50_ms", "ttft_p99_ms", "tpot_p99_ms"})
      cells.push_back(brief(base.metrics[figure_index(metric)]));
    table.add_row(std::move(cells));
  }
  return table.text({.width = width, .colour = colour, .kept = 1 + answer.space.axes.size()});
}

std::string table_of_changes(const MaxLoad& answer, const Ink& ink, bool colour, int width) {
  std::vector<TextColumn> headers = {{"with"}};
  for (const LayoutChoice& axis : answer.space.axes) headers.push_back({axis.label, Align::right});
  for (const char* header : {"holds /s", "more", "$/M tok", "worth $/h a GPU"})
    headers.push_back({header, Align::right});
  TextTable table(std::move(headers));
  for (std::size_t c = 0; c < answer.changes.size(); ++c) {
    for (std::size_t i = 0; i < answer.rows.size(); ++i) {
      const MaxLoadRow& row = answer.rows[i];
      if (row.base.metrics.empty() || row.changed.size() <= c) continue;
      const LoadAnswer& changed = row.changed[c];
      const PlanCandidate& candidate = answer.candidate_of(i);
      std::vector<std::string> cells = {answer.changes[c].text};
      cells.insert(cells.end(), candidate.values.begin(), candidate.values.end());
      if (!changed.impossible.empty()) {
        cells.insert(cells.end(), {"not possible", "", "", ""});
      } else {
        const double factor = answer.break_even_factor(row, c);
        const double price = candidate.unit_dollars_per_hour / candidate.unit_gpus;
        cells.insert(cells.end(), {brief(changed.holds), signed_percent(factor - 1),
                                   dollars(answer.dollars_per_million(i, changed)),
                                   fmt::format("{:.2f} instead of {:.2f}", price * factor, price)});
      }
      table.add_row(std::move(cells));
    }
  }
  return fmt::format(
      "\n  {}\n{}", ink.strong("what other hardware is worth"),
      table.text({.width = width, .colour = colour, .kept = 1 + answer.space.axes.size()}));
}

}  // namespace

std::string max_load_table(const MaxLoad& answer, bool colour, int width) {
  const Ink ink(colour);
  std::string text = question_text(answer.space, answer.settings, width, false) + '\n';
  text += table_of_loads(answer, ink, colour, width);
  text += ink.quiet(wrapped(
      fmt::format("★ most requests per dollar · highest load that meets the SLO, to within {}; "
                  "in brackets the interval (search and kernel-price error) · "
                  "latencies in ms at that load · $ per million output tokens",
                  percent(answer.settings.tolerance)),
      width, 2, 2));
  if (!answer.changes.empty()) {
    text += table_of_changes(answer, ink, colour, width);
    text += ink.quiet(wrapped(fmt::format("differences below {} are within the search tolerance · "
                                          "worth: the GPU price at which tokens cost the same",
                                          percent(answer.settings.tolerance)),
                              width, 2, 2));
  }
  std::string problems;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const LoadAnswer& base = answer.rows[i].base;
    if (!base.metrics.empty()) continue;
    const std::string choice = choice_text(answer.space.axes, answer.candidate_of(i).values);
    problems += wrapped(
        fmt::format("{} {}{}", ink.bad("✗"), choice.empty() ? "" : choice + ": ",
                    base.impossible.empty() ? "misses the SLO even at a thousandth of the load"
                                            : base.impossible),
        width, 2, 4);
  }
  if (!problems.empty()) text += '\n' + problems;
  return text + fmt::format("\n  {} runs\n", grouped(static_cast<std::int64_t>(answer.runs)));
}

std::string max_load_csv(const MaxLoad& answer) {
  std::string text;
  for (const LayoutChoice& axis : answer.space.axes) text += axis.key + ',';
  text +=
      "change,gpus,dollars_per_hour,holds_per_s,fails_per_s,low_per_s,high_per_s,"
      "dollars_per_million_output_tokens,worth_factor,reason\n";
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const MaxLoadRow& row = answer.rows[i];
    const PlanCandidate& candidate = answer.candidate_of(i);
    for (std::size_t c = 0; c <= row.changed.size(); ++c) {
      const LoadAnswer& load = c == 0 ? row.base : row.changed[c - 1];
      for (const std::string& value : candidate.values) text += csv_cell(value) + ',';
      text += fmt::format("{},{},{},{},{},", c == 0 ? "" : csv_cell(answer.changes[c - 1].text),
                          candidate.unit_gpus, rounded(candidate.unit_dollars_per_hour),
                          rounded(load.holds),
                          load.fails ? fmt::format("{}", rounded(*load.fails)) : "");
      text += c == 0
                  ? fmt::format("{},{},", rounded(load.interval.low), rounded(load.interval.high))
                  : ",,";
      const double cost = answer.dollars_per_million(i, load);
      text += fmt::format("{},", load.holds > 0 ? fmt::format("{}", rounded(cost)) : "");
      text += c == 0 ? "," : fmt::format("{},", rounded(answer.break_even_factor(row, c - 1)));
      text += csv_cell(load.impossible) + '\n';
    }
  }
  return text;
}

namespace {

Value load_value(const MaxLoad& answer, std::size_t row, const LoadAnswer& load) {
  Value value;
  if (!load.impossible.empty()) {
    value.set("reason", load.impossible);
    return value;
  }
  value.set("holds_per_s", rounded(load.holds));
  if (load.fails) value.set("fails_per_s", rounded(*load.fails));
  if (load.holds <= 0) return value;
  value.set("dollars_per_million_output_tokens", rounded(answer.dollars_per_million(row, load)));
  Value metrics;
  for (std::size_t m = 0; m < load.metrics.size(); ++m)
    if (is_planned(figures()[m])) metrics.set(figures()[m].name, rounded(load.metrics[m]));
  value.set("metrics", std::move(metrics));
  return value;
}

}  // namespace

Value max_load_value(const MaxLoad& answer) {
  ValueArray rows;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const MaxLoadRow& row = answer.rows[i];
    const PlanCandidate& candidate = answer.candidate_of(i);
    Value choice;
    for (std::size_t a = 0; a < answer.space.axes.size(); ++a)
      choice.set(answer.space.axes[a].key, candidate.values[a]);
    Value value = load_value(answer, i, row.base);
    if (row.base.holds > 0) {
      value.set("low_per_s", rounded(row.base.interval.low));
      value.set("high_per_s", rounded(row.base.interval.high));
      value.set("step_time_error", rounded(row.base.half_width));
    }
    value.set("choice", std::move(choice));
    value.set("replicas", replicas_of(answer, i));
    value.set("gpus", candidate.unit_gpus);
    value.set("dollars_per_hour", rounded(candidate.unit_dollars_per_hour));
    ValueArray changed;
    for (std::size_t c = 0; c < row.changed.size(); ++c) {
      Value change = load_value(answer, i, row.changed[c]);
      change.set("change", answer.changes[c].text);
      change.set("worth_factor", rounded(answer.break_even_factor(row, c)));
      changed.emplace_back(std::move(change));
    }
    if (!changed.empty()) value.set("changed", std::move(changed));
    rows.emplace_back(std::move(value));
  }
  Value value = ValueObject{{"complete", answer.is_complete},
                            {"confidence", rounded(answer.settings.confidence)},
                            {"runs", static_cast<std::int64_t>(answer.runs)}};
  if (answer.best) value.set("best", static_cast<std::int64_t>(*answer.best));
  value.set("rows", std::move(rows));
  return value;
}

}  // namespace foretoken

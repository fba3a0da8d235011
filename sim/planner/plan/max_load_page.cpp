// The page of highest loads: how much each cluster holds, how sure that is, and what other hardware
// would be worth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/toml.hpp"
#include "sim/planner/choice_text.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/planner/plan/plan_page.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"

namespace foretoken {
namespace {

std::string choice_of(const MaxLoad& answer, std::size_t row) {
  const std::string text = choice_text(answer.space.axes, answer.candidate_of(row).values);
  return text.empty() ? std::string("the cluster") : text;
}

/// Units are whole clusters here.
Changes load_keys(const MaxLoad& answer, std::size_t row) {
  return answer.space.keys[answer.rows[row].candidate].deployment(1);
}

std::string load_interval(const Interval& interval) {
  return fmt::format("{} to {}", brief(interval.low), brief(interval.high));
}

void add_load_tiles(ReportPage& page, const MaxLoad& answer) {
  std::vector<PageTile> tiles;
  if (answer.best) {
    const LoadAnswer& base = answer.rows[*answer.best].base;
    const PlanCandidate& candidate = answer.candidate_of(*answer.best);
    tiles.push_back({"Most requests per dollar", choice_of(answer, *answer.best), "",
                     fmt::format("{} x {} · ${:.2f} an hour", candidate.unit_gpus,
                                 candidate.hardware, candidate.unit_dollars_per_hour),
                     PageTile::Tone::good});
    tiles.push_back({"Holds up to", brief(base.holds), "requests/s",
                     load_interval(base.interval) + " · " +
                         brief(base.holds / candidate.unit_gpus) + " a GPU"});
    tiles.push_back({"Cost",
                     fmt::format("${}", grouped(answer.dollars_per_million(*answer.best, base), 2)),
                     "per M tokens", "of output, at that load"});
    for (const char* name : {"e2e_p50", "ttft_p99", "tpot_p99"}) {
      const double value = base.metrics[figure_index(std::string(name) + "_ms")];
      const double unit = value >= 1e3 ? 1e3 : 1;
      tiles.push_back(
          {latency_header(name), brief(value / unit), unit > 1 ? "s" : "ms", "at that load"});
    }
  } else {
    tiles.push_back({"Holds up to", "nothing", "",
                     answer.is_complete ? "the reasons are in the table" : "stopped before",
                     PageTile::Tone::bad});
  }
  tiles.push_back({"Runs", grouped(static_cast<std::int64_t>(answer.runs)), "", ""});
  page.tiles(tiles);
}

void add_loads(ReportPage& page, const MaxLoad& answer) {
  std::vector<PageBar> bars;
  double most = 0;
  PageSeries best{"most requests per dollar", PageSeries::Kind::points, {}, {}};
  PageSeries others{"others", PageSeries::Kind::points, {}, {}};
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const LoadAnswer& base = answer.rows[i].base;
    if (base.metrics.empty()) continue;
    most = std::max(most, base.holds);
    bars.push_back({choice_of(answer, i),
                    fmt::format("{}/s ({})", brief(base.holds), load_interval(base.interval)),
                    {{choice_of(answer, i), base.holds}}});
    PageSeries& series = answer.best == i ? best : others;
    const double dollars = answer.candidate_of(i).unit_dollars_per_hour;
    series.x.push_back(dollars);
    series.y.push_back(base.holds);
    series.low.push_back(base.interval.low);
    series.high.push_back(base.interval.high);
    series.notes.push_back(fmt::format("{}: {}/s ({}), ${:.2f} an hour", choice_of(answer, i),
                                       brief(base.holds), load_interval(base.interval), dollars));
  }
  page.section("Highest loads that hold the SLO",
               fmt::format("Requests/s, found to {}; in brackets what that and the predictor's "
                           "error leave open.",
                           percent(answer.settings.tolerance)));
  const bool costs_differ = std::ranges::any_of(
      others.x, [&](double dollars) { return best.x.empty() || dollars != best.x.front(); });
  if (costs_differ)
    page.chart({"Highest load against cost", {"USD an hour"}, {"requests/s"}, {others, best}});
  if (bars.size() > 1) page.bars("Requests/s", bars, most);
}

/// The choice of each of `rows`.
std::vector<PageColumn> choice_columns(const MaxLoad& answer,
                                       const std::vector<std::size_t>& rows) {
  std::vector<PageColumn> columns;
  for (std::size_t a = 0; a < answer.space.axes.size(); ++a) {
    std::vector<std::string> values;
    for (const std::size_t row : rows) values.push_back(answer.candidate_of(row).values[a]);
    columns.push_back(PageColumn::of_values(answer.space.axes[a].label, std::move(values)));
  }
  return columns;
}

/// Why rows have no figures, if some have none.
void add_load_reasons(std::vector<PageColumn>& columns, std::vector<std::string> reasons) {
  const auto is_given = [](const std::string& reason) { return !reason.empty(); };
  if (std::ranges::any_of(reasons, is_given))
    columns.push_back(PageColumn::of_texts("why not", std::move(reasons)));
}

void add_load_table(ReportPage& page, const MaxLoad& answer) {
  std::vector<std::size_t> rows(answer.rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  std::vector<PageColumn> columns = choice_columns(answer, rows);
  const auto add = [&](const std::string& name, const char* unit, int decimals, auto figure) {
    std::vector<double> numbers;
    for (const std::size_t row : rows) {
      const LoadAnswer& base = answer.rows[row].base;
      numbers.push_back(base.metrics.empty() ? no_value
                                             : figure(base, answer.candidate_of(row), row));
    }
    columns.push_back(PageColumn::of_numbers(name, unit, decimals, std::move(numbers)));
  };
  using Load = const LoadAnswer&;
  using Candidate = const PlanCandidate&;
  add("token cost", "$/M", 2,
      [&](Load load, Candidate, std::size_t row) { return answer.dollars_per_million(row, load); });
  add("GPUs", "", 0, [](Load, Candidate c, std::size_t) { return double(c.unit_gpus); });
  add("cost", "$/h", 2, [](Load, Candidate c, std::size_t) { return c.unit_dollars_per_hour; });
  add("holds", "requests/s", 2, [](Load load, Candidate, std::size_t) { return load.holds; });
  for (const std::size_t row : rows) {
    const LoadAnswer& base = answer.rows[row].base;
    columns.back().low.push_back(base.metrics.empty() ? no_value : base.interval.low);
    columns.back().high.push_back(base.metrics.empty() ? no_value : base.interval.high);
  }
  add("holds, per GPU", "requests/s", 2,
      [](Load load, Candidate c, std::size_t) { return load.holds / c.unit_gpus; });
  for (const char* name : {"e2e_p50", "ttft_p50", "ttft_p99", "tpot_p50", "tpot_p99"}) {
    const std::size_t metric = figure_index(std::string(name) + "_ms");
    add(latency_header(name), "ms", 1,
        [&](Load load, Candidate, std::size_t) { return load.metrics[metric]; });
  }
  std::vector<std::string> reasons;
  for (const MaxLoadRow& row : answer.rows) {
    reasons.push_back(!row.base.metrics.empty() ? ""
                      : row.base.impossible.empty()
                          ? "misses the SLO even at a thousandth of the load"
                          : row.base.impossible);
  }
  add_load_reasons(columns, std::move(reasons));
  put_costs_first(columns);
  page.table("choice", columns);
}

/// Bars and a table of all changes of all choices that hold anything.
void add_load_changes(ReportPage& page, const MaxLoad& answer) {
  if (answer.changes.empty()) return;
  page.section("What other hardware is worth",
               "How much more load the same cluster would hold with one thing changed, and what a "
               "GPU might then cost for output tokens to cost the same.");
  std::vector<std::size_t> rows;
  std::vector<std::string> changes, reasons;
  std::vector<double> holds, more, cost, worth, price;
  std::vector<PageGain> gains;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const MaxLoadRow& row = answer.rows[i];
    if (row.base.metrics.empty()) continue;
    const double dollars =
        answer.candidate_of(i).unit_dollars_per_hour / answer.candidate_of(i).unit_gpus;
    for (std::size_t c = 0; c < row.changed.size(); ++c) {
      const LoadAnswer& changed = row.changed[c];
      const bool ran = changed.impossible.empty();
      const double factor = answer.break_even_factor(row, c);
      rows.push_back(i);
      changes.push_back(answer.changes[c].text);
      reasons.push_back(changed.impossible);
      holds.push_back(ran ? changed.holds : no_value);
      more.push_back(ran ? (factor - 1) * 100 : no_value);
      cost.push_back(ran && changed.holds > 0 ? answer.dollars_per_million(i, changed) : no_value);
      worth.push_back(ran ? dollars * factor : no_value);
      price.push_back(dollars);
      if (!ran) continue;
      gains.push_back(
          {fmt::format("{} · {}", answer.changes[c].text, choice_of(answer, i)),
           fmt::format("{}{:.1f} % · {}/s instead of {}/s", factor < 1 ? "−" : "+",
                       std::abs(factor - 1) * 100, brief(changed.holds), brief(row.base.holds)),
           factor - 1});
    }
  }
  if (rows.empty()) return;
  std::ranges::stable_sort(gains, std::greater(), &PageGain::gain);
  page.gains("More or less load", gains);
  std::vector<PageColumn> columns = choice_columns(answer, rows);
  columns.insert(columns.begin(), PageColumn::of_texts("with", std::move(changes)));
  columns.push_back(PageColumn::of_numbers("holds", "requests/s", 2, std::move(holds)));
  columns.push_back(PageColumn::of_numbers("more", "%", 1, std::move(more)));
  columns.push_back(PageColumn::of_numbers("token cost", "$/M", 2, std::move(cost)));
  columns.push_back(PageColumn::of_numbers("worth", "$/h a GPU", 2, std::move(worth)));
  columns.push_back(PageColumn::of_numbers("price", "$/h a GPU", 2, std::move(price)));
  add_load_reasons(columns, std::move(reasons));
  put_costs_first(columns);
  page.table("change", columns);
}

void add_load_accuracy(ReportPage& page, const MaxLoad& answer) {
  page.section("Confidence");
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const LoadAnswer& base = answer.rows[i].base;
    if (base.metrics.empty()) continue;
    notes.push_back(fmt::format(
        "{}: step-time uncertainty ±{} ({} interval), from the held-out errors of "
        "its kernel families.",
        choice_of(answer, i), percent(base.half_width), percent(answer.settings.confidence)));
  }
  const TrafficSample& traffic = answer.space.traffic;
  notes.push_back(
      fmt::format("Traffic: {} prompt and {} output tokens a request on average, {}; "
                  "its rate is what was searched.",
                  brief(prompt_tokens_mean(traffic)), brief(traffic.output_tokens_mean()),
                  traffic.is_recorded ? "from a recorded trace" : "drawn"));
  notes.push_back("SLO: " + slo_text(answer.space.slo) + ".");
  notes.emplace_back("Assumes that less load is never harder to serve.");
  if (!answer.changes.empty()) {
    notes.push_back(fmt::format(
        "Gains below the tolerance of the search ({}) are not to be told from none; the "
        "predictor's error is the same before and after a change and mostly cancels.",
        percent(answer.settings.tolerance)));
  }
  if (!answer.is_complete) notes.emplace_back("The search was stopped.");
  page.notes(notes);
}

}  // namespace

std::string max_load_page(const MaxLoad& answer, const std::string& scenario,
                          const LoadScenario& load, const std::string& version) {
  ReportPage page("Highest load of " + scenario, "plan", version);
  add_load_tiles(page, answer);
  add_loads(page, answer);
  add_load_table(page, answer);
  add_load_changes(page, answer);
  add_load_accuracy(page, answer);
  page.section("Scenario",
               "Of the cluster that serves most requests for a dollar; every default "
               "filled in, at the load that was given.");
  if (answer.best) {
    page.text("scenario.toml", to_toml(resolved_scenario(load(load_keys(answer, *answer.best)))));
  }
  page.text("Terminal output", max_load_table(answer, false, 120));
  return page.html();
}

}  // namespace foretoken

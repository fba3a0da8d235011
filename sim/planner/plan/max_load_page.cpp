// The page of highest loads: how much each cluster holds, how sure that is, and what other hardware
// would be worth.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/toml.hpp"
#include "sim/planner/choice_text.hpp"
#include "sim/planner/plan/max_load_columns.hpp"
#include "sim/planner/plan/plan_metrics.hpp"
#include "sim/planner/plan/plan_page.hpp"
#include "sim/planner/plan/plan_text.hpp"
#include "sim/report/command_text.hpp"
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

std::string load_interval(const LoadAnswer& load) {
  if (load.is_open) return "at least: the search was stopped";
  return fmt::format("{} to {}", brief(load.interval.low), brief(load.interval.high));
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
    tiles.push_back(
        {base.is_open ? "Holds at least" : "Holds up to", brief(base.holds), "requests/s",
         load_interval(base) + " · " + brief(base.holds / candidate.unit_gpus) + " per GPU"});
    tiles.push_back({"Cost",
                     fmt::format("${}", grouped(answer.dollars_per_million(*answer.best, base), 2)),
                     "per M tokens", "of output, at that load"});
    for (const char* name : {"e2e_p50", "ttft_p99", "tpot_p99"}) {
      const double value = base.metrics[figure_index(std::string(name) + "_ms")];
      const double unit = value >= 1e3 ? 1e3 : 1;
      tiles.push_back({figure_named(name + std::string("_ms")).title, brief(value / unit),
                       unit > 1 ? "s" : "ms", "at that load"});
    }
  } else {
    tiles.push_back(
        {"Holds up to", answer.is_complete ? "nothing" : "unknown", "",
         answer.is_complete ? "the reasons are in the table" : "stopped before any load was found",
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
                    fmt::format("{}/s ({})", brief(base.holds), load_interval(base)),
                    {{choice_of(answer, i), base.holds}}});
    PageSeries& series = answer.best == i ? best : others;
    const double dollars = answer.candidate_of(i).unit_dollars_per_hour;
    series.x.push_back(dollars);
    series.y.push_back(base.holds);
    series.low.push_back(base.is_open ? base.holds : base.interval.low);
    series.high.push_back(base.is_open ? base.holds : base.interval.high);
    series.notes.push_back(fmt::format("{}: {}/s ({}), ${:.2f} an hour", choice_of(answer, i),
                                       brief(base.holds), load_interval(base), dollars));
  }
  page.section("Highest loads that meet the SLO",
               fmt::format("Requests/s, to within {}; in brackets the interval (search tolerance "
                           "and kernel-price error).",
                           percent(answer.settings.tolerance)));
  const bool costs_differ = std::ranges::any_of(
      others.x, [&](double dollars) { return best.x.empty() || dollars != best.x.front(); });
  if (costs_differ)
    page.chart({"Highest load against cost", {"USD an hour"}, {"requests/s"}, {others, best}});
  if (bars.size() > 1) page.bars("Requests/s", bars, most);
}

/// What each model has of the highest load.
void add_load_models(ReportPage& page, const MaxLoad& answer, const std::vector<LoadRow>& rows) {
  if (answer.space.traffic.models.empty()) return;
  const ResultTable models = model_columns(answer, rows);
  if (models.rows() == 0) return;
  page.section("Each model at that load",
               "The load holds if every model meets the SLO; they keep their shares of it.");
  page.table("model", models.page());
}

/// Bars and a table of all changes of all choices that hold anything.
void add_load_changes(ReportPage& page, const MaxLoad& answer) {
  if (answer.changes.empty()) return;
  page.section("What other hardware is worth",
               "How much more load the same cluster would sustain with one change, and what "
               "per GPU might then cost for output tokens to cost the same.");
  std::vector<LoadRow> rows;
  std::vector<PageGain> gains;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const MaxLoadRow& row = answer.rows[i];
    if (row.base.metrics.empty()) continue;
    for (std::size_t c = 0; c < row.changed.size(); ++c) {
      const LoadAnswer& changed = row.changed[c];
      const double gain = answer.break_even_factor(row, c) - 1;
      rows.push_back({i, c});
      if (!changed.impossible.empty()) continue;
      gains.push_back({fmt::format("{} · {}", answer.changes[c].text, choice_of(answer, i)),
                       fmt::format("{} · {}/s instead of {}/s", signed_percent(gain),
                                   brief(changed.holds), brief(row.base.holds)),
                       gain});
    }
  }
  if (rows.empty()) return;
  std::ranges::stable_sort(gains, std::greater(), &PageGain::gain);
  page.gains("More or less load", gains);
  page.table("change", load_columns(answer, rows, LoadView::changes, Ink(false)).page());
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
      fmt::format("Traffic: {} prompt and {} output tokens per request on average, {}; the search "
                  "varied its rate.",
                  brief(prompt_tokens_mean(traffic)), brief(traffic.output_tokens_mean()),
                  traffic.is_recorded ? "from a recorded trace" : "drawn"));
  notes.push_back("SLO: " + slo_text(answer.space.slo) + ".");
  if (answer.settings.replications.most > 1)
    notes.emplace_back("Latencies are means over seeds; the command below runs the first.");
  notes.emplace_back("Assumes that less load is never harder to serve.");
  if (!answer.changes.empty()) {
    notes.push_back(
        fmt::format("Gains below the search tolerance ({}) cannot be told from none; kernel-price "
                    "error is the same before and after a change and mostly cancels.",
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
  std::vector<LoadRow> rows;
  for (std::size_t i = 0; i < answer.rows.size(); ++i) rows.push_back({i});
  page.table("choice", load_columns(answer, rows, LoadView::loads, Ink(false)).page());
  add_load_models(page, answer, rows);
  add_load_changes(page, answer);
  add_load_accuracy(page, answer);
  page.section(
      "Scenario",
      "The cluster with the most requests per dollar, at the given load; every default filled in.");
  if (answer.best) {
    page.text("Command",
              command_lines(command_words(answer.overrides, answer.run, scenario), 100, 0));
    page.text("scenario.toml", to_toml(resolved_scenario(load(load_keys(answer, *answer.best)))));
  }
  page.text("Terminal output", max_load_table(answer, scenario, false, 120));
  return page.html();
}

}  // namespace foretoken

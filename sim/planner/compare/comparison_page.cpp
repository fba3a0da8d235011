// The page of a comparison: which layout is best by each goal, all of them on latency against
// throughput, where each one's GPU time goes, and the table.
#include <fmt/format.h>

#include <algorithm>

#include "sim/planner/compare/comparison_columns.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"

namespace foretoken {
namespace {

/// GPUs that share a stage's work: time_by counts a stage once.
double ranks_of_a_stage(const Report& report) {
  const Value* deployment = report.scenario.find("deployment");
  if (deployment == nullptr) return 0;
  const auto count = [&](const char* key) {
    const Value* found = deployment->find(key);
    const auto* number = found == nullptr ? nullptr : std::get_if<std::int64_t>(&found->data);
    return number == nullptr ? 0.0 : static_cast<double>(*number);
  };
  return count("tensor_parallel") * std::max(1.0, count("data_parallel_attention"));
}

bool is_best(const Comparison& comparison, std::size_t row) {
  return std::ranges::any_of(comparison.best, [&](const BestRun& best) { return best.has(row); });
}

void add_compared_scatter(ReportPage& page, const Comparison& comparison, const char* figure) {
  const Figure& latency = figure_named(figure);
  const Figure& throughput = figure_named("output_tokens_per_s_gpu");
  PageSeries others{"layouts", PageSeries::Kind::points, {}, {}};
  PageSeries best{"best by some goal", PageSeries::Kind::points, {}, {}};
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const Report* report = comparison.rows[i].report();
    if (report == nullptr) continue;
    PageSeries& series = is_best(comparison, i) ? best : others;
    const double value = latency.value(*report), rate = throughput.value(*report);
    series.x.push_back(rate);
    series.y.push_back(value);
    series.size.push_back(0.12);
    std::string ends;
    if (const auto interval = interval_of(*report, latency)) {
      series.low.push_back(interval->low);
      series.high.push_back(interval->high);
      if (interval->low < interval->high)
        ends = fmt::format(" ({}–{})", brief(interval->low), brief(interval->high));
    }
    series.notes.push_back(fmt::format("{}: {} ms{}, {} output tokens/s per GPU",
                                       layout_text(comparison, comparison.rows[i]), brief(value),
                                       ends, brief(rate)));
  }
  PageChart chart;
  chart.title = fmt::format("{} against throughput", latency.title);
  chart.x.label = "output tokens/s per GPU";
  chart.y.label = fmt::format("{}, ms", latency.title);
  chart.series = {best, others};
  page.chart(chart);
}

/// GPU time for a million output tokens by kernel family: the largest of all layouts, and the rest.
void add_compared_time(ReportPage& page, const Comparison& comparison) {
  constexpr std::size_t families_shown = 7;
  std::vector<std::pair<std::string, double>> totals;
  struct Bar {
    std::string name;
    std::vector<std::pair<std::string, double>> parts;
    double seconds = 0;
  };
  std::vector<Bar> bars;
  for (const ComparedLayout& row : comparison.rows) {
    if (row.report() == nullptr) continue;
    const Report& report = *row.report();
    const double tokens = report.whole_run.output_tokens_per_s * report.duration_s;
    const double ranks = ranks_of_a_stage(report);
    if (!report.pools.empty() || !(tokens * ranks > 0))
      continue;  // pools have layouts of their own
    Bar& bar = bars.emplace_back();
    bar.name = layout_text(comparison, row);
    for (const auto& [family, seconds] : report.time_by) {
      const double of_million = seconds * ranks / tokens * 1e6;
      bar.parts.emplace_back(family, of_million);
      bar.seconds += of_million;
      const auto known = std::ranges::find(totals, family, &std::pair<std::string, double>::first);
      if (known != totals.end()) {
        known->second += of_million;
      } else {
        totals.emplace_back(family, of_million);
      }
    }
  }
  std::ranges::stable_sort(totals, std::greater(), &std::pair<std::string, double>::second);
  if (totals.size() > families_shown) totals.resize(families_shown);
  double longest = 0;
  std::vector<PageBar> shown;
  for (const Bar& bar : bars) {
    longest = std::max(longest, bar.seconds);
    PageBar& one = shown.emplace_back();
    one.name = bar.name;
    one.value = fmt::format("{} GPU s", brief(bar.seconds));
    double rest = bar.seconds;
    for (const auto& [family, total] : totals) {
      const auto part =
          std::ranges::find(bar.parts, family, &std::pair<std::string, double>::first);
      if (part == bar.parts.end()) continue;
      std::string name = family;
      std::ranges::replace(name, '_', ' ');
      one.parts.emplace_back(name, part->second);
      rest -= part->second;
    }
    if (rest > 1e-6 * bar.seconds) one.parts.emplace_back("others", rest);
  }
  if (shown.empty()) return;
  page.section("Where the time goes", "GPU time per million output tokens, summed over all GPUs.");
  page.bars("By kernel family", shown, longest);
}

/// What leads by some goals: one tile for all of them.
std::vector<PageTile> best_tiles(const Comparison& comparison) {
  std::vector<PageTile> tiles;
  std::vector<std::size_t> shown;
  for (const BestRun& best : comparison.best) {
    if (std::ranges::find(shown, best.place) != shown.end()) continue;
    shown.push_back(best.place);
    std::string goals;
    std::vector<std::size_t> ties;
    for (const BestRun& other : comparison.best) {
      if (other.place != best.place) continue;
      goals += (goals.empty() ? "" : ", ") + other.goal();
      for (const std::size_t row : other.ties) {
        if (std::ranges::find(ties, row) == ties.end()) ties.push_back(row);
      }
    }
    const Report& report = *comparison.rows[best.place].report();
    std::string note = fmt::format("TTFT p99 {} ms · TPOT p99 {} ms · {} tokens/s per GPU",
                                   brief(report.ttft_ms.p99), brief(report.tpot_ms.p99),
                                   brief(report.throughput.output_tokens_per_s / report.gpus));
    if (!report.slo.targets.empty()) {
      note += fmt::format(" · SLO {} by {} %", report.slo.met ? "met" : "missed: met",
                          attained(report.slo.attainment));
    }
    for (const std::size_t row : ties) {
      note += fmt::format("{}{}", row == ties.front() ? " · tied on some goals with " : " or ",
                          layout_text(comparison, comparison.rows[row]));
    }
    tiles.push_back(
        {goals, layout_text(comparison, comparison.rows[best.place]), "", std::move(note)});
  }
  return tiles;
}

}  // namespace

std::string comparison_page(const Comparison& comparison, const std::string& title,
                            const std::string& version) {
  ReportPage page(title, "comparison", version);
  page.tiles(best_tiles(comparison));
  const ResultTable table = comparison_columns(comparison, Ink(false));
  std::string note = "Lower right is better. Click a column header to sort.";
  if (table.has_prices()) {
    note += fmt::format(
        " Whiskers and square brackets are {:.0f} % intervals (kernel-price error); layouts "
        "whose intervals overlap are equally good by that goal.",
        100 * interval_confidence);
  }
  page.section("Layouts", std::move(note));
  add_compared_scatter(page, comparison, "ttft_p99_ms");
  add_compared_scatter(page, comparison, "tpot_p99_ms");
  page.table("layout", table.page(comparison.rows.size()));
  add_compared_time(page, comparison);
  std::vector<std::string> notes;
  for (const ComparedLayout& row : comparison.rows) {
    if (row.report() == nullptr) {
      notes.push_back(fmt::format("{}: {}", layout_text(comparison, row), row.outcome.message));
    }
  }
  if (!notes.empty()) page.section("Not possible");
  page.notes(notes);
  page.section("Terminal output");
  page.text("The whole table", comparison_table(comparison, false, 120));
  return page.html();
}

}  // namespace foretoken

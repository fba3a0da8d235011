// The page of a comparison: which layout is best by each goal, all of them on latency against
// throughput, where each one's GPU time goes, and the table.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/planner/compare.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"

namespace foretoken {
namespace {

double number_at(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  if (found == nullptr) return 0;
  if (const auto* whole = std::get_if<std::int64_t>(&found->data)) {
    return static_cast<double>(*whole);
  }
  return std::get<double>(found->data);
}

/// GPUs that share a stage's work: time_by counts a stage once.
double ranks_of_a_stage(const Value& report) {
  const Value* scenario = report.find("scenario");
  const Value* deployment = scenario == nullptr ? nullptr : scenario->find("deployment");
  if (deployment == nullptr) return 0;
  return number_at(*deployment, "tensor_parallel") *
         std::max(1.0, number_at(*deployment, "data_parallel_attention"));
}

/// Of a figure; the figure itself where it has no interval.
FigureInterval ends_at(const RunFigures& figures, std::string_view figure, double value) {
  return interval_of(figures, figure).value_or(FigureInterval{value, value});
}

bool is_best(const Comparison& comparison, std::size_t row) {
  return std::ranges::any_of(comparison.best,
                             [&](const BestLayout& best) { return best.has(row); });
}

void add_compared_scatter(ReportPage& page, const Comparison& comparison, const char* name,
                          std::string_view figure, double RunFigures::*latency) {
  const bool is_bounded = comparison.has_intervals();
  PageSeries others{"layouts", PageSeries::Kind::points, {}, {}};
  PageSeries best{"best by some goal", PageSeries::Kind::points, {}, {}};
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparedLayout& row = comparison.rows[i];
    if (!row.figures) continue;
    PageSeries& series = is_best(comparison, i) ? best : others;
    const double value = (*row.figures).*latency;
    series.x.push_back(row.figures->output_tokens_per_s_gpu);
    series.y.push_back(value);
    series.size.push_back(0.12);
    std::string ends;
    if (is_bounded) {
      const FigureInterval interval = ends_at(*row.figures, figure, value);
      series.low.push_back(interval.low);
      series.high.push_back(interval.high);
      if (interval.low < interval.high)
        ends = fmt::format(" ({}–{})", brief(interval.low), brief(interval.high));
    }
    series.notes.push_back(fmt::format("{}: {} ms{}, {} output tokens/s per GPU",
                                       layout_text(comparison, row), brief(value), ends,
                                       brief(row.figures->output_tokens_per_s_gpu)));
  }
  PageChart chart;
  chart.title = fmt::format("{} against throughput", name);
  chart.x.label = "output tokens/s per GPU";
  chart.y.label = fmt::format("{}, ms", name);
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
    if (!row.figures) continue;
    const Value& report = row.outcome.report;
    const Value* whole = report.find("whole_run");
    const double tokens = whole == nullptr ? 0.0
                                           : number_at(*whole, "output_tokens_per_s") *
                                                 number_at(report, "duration_s");
    const Value* time_by = report.find("time_by");
    const double ranks = ranks_of_a_stage(report);
    const bool has_pools = report.find("pools") != nullptr;  // of other layouts each
    if (has_pools || !(tokens * ranks > 0) || time_by == nullptr || !time_by->is_object()) continue;
    Bar& bar = bars.emplace_back();
    bar.name = layout_text(comparison, row);
    for (const auto& [family, seconds] : std::get<ValueObject>(time_by->data)) {
      const double of_million = number_at(*time_by, family) * ranks / tokens * 1e6;
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
  page.section("Where the time goes", "GPU time for a million output tokens, all GPUs together.");
  page.bars("By kernel family", shown, longest);
}

void add_compared_table(ReportPage& page, const Comparison& comparison) {
  std::vector<PageColumn> columns;
  std::vector<std::string> layouts, statuses, bounds, goals;
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    const ComparedLayout& row = comparison.rows[i];
    layouts.push_back(layout_text(comparison, row));
    statuses.emplace_back(enum_name(row.outcome.status));
    bounds.push_back(row.figures ? row.figures->bound : "");
    std::string best;
    for (const BestLayout& goal : comparison.best) {
      if (goal.has(i)) best += (best.empty() ? "" : ", ") + goal.goal;
    }
    goals.push_back(best);
  }
  columns.push_back(PageColumn::of_texts("layout", layouts));
  const bool is_bounded = comparison.has_intervals();
  /// `key`: the figure's name; "": no interval is of it.
  const auto add = [&](std::string_view key, const char* name, const char* unit, int decimals,
                       auto figure, double scale = 1) {
    PageColumn column = PageColumn::of_numbers(name, unit, decimals, {});
    for (const ComparedLayout& row : comparison.rows) {
      column.numbers.push_back(row.figures ? figure(*row.figures) * scale : no_value);
      if (!is_bounded || key.empty()) continue;
      const auto interval = row.figures ? interval_of(*row.figures, key) : std::nullopt;
      column.price_low.push_back(interval ? interval->low * scale : no_value);
      column.price_high.push_back(interval ? interval->high * scale : no_value);
    }
    columns.push_back(std::move(column));
  };
  using Figures = const RunFigures&;
  const auto any = [&](auto holds) {
    return std::ranges::any_of(comparison.rows, [&](const ComparedLayout& row) {
      return row.figures && holds(*row.figures);
    });
  };
  // What most readers came for stands first, where a phone shows it.
  if (any([](Figures f) { return f.dollars_per_million.has_value(); })) {
    add("dollars_per_million_output_tokens", "cost", "$/M tokens", 2,
        [](Figures f) { return f.dollars_per_million.value_or(no_value); });
  }
  add("ttft_p99_ms", "TTFT p99", "ms", 1, [](Figures f) { return f.ttft_p99_ms; });
  add("tpot_p99_ms", "TPOT p99", "ms", 2, [](Figures f) { return f.tpot_p99_ms; });
  add("", "GPUs", "", 0, [](Figures f) { return double(f.gpus); });
  add("ttft_p50_ms", "TTFT p50", "ms", 1, [](Figures f) { return f.ttft_p50_ms; });
  add("tpot_p50_ms", "TPOT p50", "ms", 2, [](Figures f) { return f.tpot_p50_ms; });
  add("output_tokens_per_s", "output", "tokens/s", 0,
      [](Figures f) { return f.output_tokens_per_s; });
  add("output_tokens_per_s_gpu", "per GPU", "tokens/s", 0,
      [](Figures f) { return f.output_tokens_per_s_gpu; });
  if (any([](Figures f) { return f.has_slo; })) {
    const auto attainment = [](Figures f) { return f.attainment; };
    add("attainment", "within SLO", "%", 1, attainment, 100);
    std::vector<std::string> verdicts;
    for (const ComparedLayout& row : comparison.rows)
      verdicts.emplace_back(!row.figures ? "" : row.figures->slo_met ? "met" : "missed");
    columns.push_back(PageColumn::of_texts("SLO", verdicts));
    add("goodput_per_s", "goodput", "requests/s", 2, [](Figures f) { return f.goodput_per_s; });
  }
  add("", "failed", "requests", 0, [](Figures f) { return double(f.failed); });
  columns.push_back(PageColumn::of_texts("bound by", bounds));
  columns.push_back(PageColumn::of_texts("best by", goals));
  columns.push_back(PageColumn::of_texts("status", statuses));
  page.table("layout", columns);
}

}  // namespace

std::string comparison_page(const Comparison& comparison, const std::string& title,
                            const std::string& version) {
  ReportPage page(title, "comparison", version);
  std::vector<PageTile> tiles;
  for (std::size_t i = 0; i < comparison.best.size(); ++i) {
    const BestLayout& best = comparison.best[i];
    if (std::ranges::find(comparison.best.begin(), comparison.best.begin() + std::ptrdiff_t(i),
                          best.row,
                          &BestLayout::row) != comparison.best.begin() + std::ptrdiff_t(i)) {
      continue;  // its tile names this goal too
    }
    std::string goals;
    std::vector<std::size_t> ties;
    for (const BestLayout& other : comparison.best) {
      if (other.row != best.row) continue;
      goals += (goals.empty() ? "" : ", ") + other.goal;
      for (const std::size_t row : other.ties) {
        if (std::ranges::find(ties, row) == ties.end()) ties.push_back(row);
      }
    }
    const RunFigures& figures = *comparison.rows[best.row].figures;
    std::string note = fmt::format("TTFT p99 {} ms · TPOT p99 {} ms · {} tokens/s per GPU",
                                   brief(figures.ttft_p99_ms), brief(figures.tpot_p99_ms),
                                   brief(figures.output_tokens_per_s_gpu));
    if (figures.has_slo) {
      note += fmt::format(" · SLO {} by {}", figures.slo_met ? "met" : "missed: met",
                          percent(figures.attainment));
    }
    for (const std::size_t row : ties) {
      note +=
          fmt::format("{}{}", row == ties.front() ? " · in some of this no better than " : " or ",
                      layout_text(comparison, comparison.rows[row]));
    }
    tiles.push_back(
        {goals, layout_text(comparison, comparison.rows[best.row]), "", std::move(note)});
  }
  page.tiles(tiles);
  std::string note = "Down and to the right is better. Press a column's name to sort by it.";
  if (comparison.has_intervals()) {
    note += fmt::format(
        " Whiskers and square brackets are what the error of prices may make of a figure "
        "({:.0f} %); layouts whose intervals overlap are equally good by that goal.",
        100 * interval_confidence);
  }
  page.section("Layouts", std::move(note));
  add_compared_scatter(page, comparison, "TTFT p99", "ttft_p99_ms", &RunFigures::ttft_p99_ms);
  add_compared_scatter(page, comparison, "TPOT p99", "tpot_p99_ms", &RunFigures::tpot_p99_ms);
  add_compared_table(page, comparison);
  add_compared_time(page, comparison);
  std::vector<std::string> notes;
  for (const ComparedLayout& row : comparison.rows) {
    if (!row.figures) {
      notes.push_back(fmt::format("{}: {}", layout_text(comparison, row), row.outcome.message));
    }
  }
  if (!notes.empty()) page.section("Not possible");
  page.notes(notes);
  page.section("As in the terminal");
  page.text("The whole table", comparison_table(comparison, false, 120));
  return page.html();
}

}  // namespace foretoken

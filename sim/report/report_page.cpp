// The page of one run: what it came to, how latencies are distributed, what happened over time,
// where the time went, the kernels against the GPU's limits, every request, how far prices may be
// off, and the scenario.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/base/toml.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/group_text.hpp"
#include "sim/report/number_text.hpp"
#include "sim/report/page.hpp"
#include "sim/report/page_pools.hpp"
#include "sim/report/page_requests.hpp"
#include "sim/report/page_run.hpp"
#include "sim/report/pool_memory.hpp"
#include "sim/report/report.hpp"

namespace foretoken {
namespace {

/// "90 % 95.9–117 · ", or nothing.
std::string within(const Report& report, std::string_view table, std::string_view figure,
                   double unit = 1) {
  const auto interval = interval_of(report, table, figure);
  if (!interval || brief(interval->low / unit) == brief(interval->high / unit)) return "";
  return fmt::format("90 % {}–{} · ", brief(interval->low / unit), brief(interval->high / unit));
}

PageTile latency_tile(const char* name, const Report& report, std::string_view table,
                      const LatencyRow& row) {
  const double unit = row.p50 >= 1e3 ? 1e3 : 1;
  const char* unit_name = unit > 1 ? "s" : "ms";
  return {fmt::format("{} p99", name), brief(row.p99 / unit), unit_name,
          fmt::format("{}p50 {} · mean {}", within(report, table, "p99", unit),
                      brief(row.p50 / unit), brief(row.mean / unit))};
}

/// How many a second and how long that took; or why requests failed.
std::string requests_note(const Report& report) {
  std::string note;
  if (report.requests.completed > 0) {
    note = fmt::format("{}/s in {}", brief(report.throughput.requests_per_s),
                       duration(report.duration_s));
    if (report.drain.duration_s > 0) {
      note += fmt::format(", rates without {} of drain", duration(report.drain.duration_s));
    }
  }
  for (const NamedCount& reason : report.requests.failed_by) {
    note += fmt::format("{}{} failed: {}", note.empty() ? "" : " · ", grouped(reason.count),
                        failure_text(reason.name));
  }
  for (const NamedCount& reason : report.requests.rejected_by) {
    note += fmt::format("{}{} rejected: {}", note.empty() ? "" : " · ", grouped(reason.count),
                        failure_text(reason.name));
  }
  return note;
}

PageTile group_tile(const RequestGroup& group, const Report& report) {
  std::string note = fmt::format("{} of {} completed · TPOT p50 {} ms", grouped(group.completed),
                                 grouped(group.arrived), brief(group.tpot_ms.p50));
  if (group.rejected > 0) note += fmt::format(" · {} rejected", grouped(group.rejected));
  const std::string ttft = brief(group.ttft_ms.p99);
  std::string name = group_name(group);
  if (group.name.empty()) name.front() = 'P';
  if (report.slo.targets.empty()) return {name + " TTFT p99", ttft, "ms", note};
  return {name + " SLO met by", attained(group.attainment), "% of requests",
          fmt::format("TTFT p99 {} ms · {}", ttft, note)};
}

void add_tiles(ReportPage& page, const Report& report) {
  std::vector<PageTile> tiles;
  const Report::Slo& slo = report.slo;
  if (!slo.targets.empty()) {
    std::string targets;
    for (std::string target : slo.targets) {
      if (const auto sign = target.find("<="); sign != std::string::npos) {
        target.replace(sign, 2, "≤");
      }
      targets += (targets.empty() ? "" : " · ") + target;
    }
    tiles.push_back({"SLO met by", attained(slo.attainment), "% of requests",
                     fmt::format("{} · {:g} % required · {}", slo.met ? "enough" : "too few",
                                 slo.percentile, targets),
                     slo.met ? PageTile::Tone::good : PageTile::Tone::bad});
  }
  for (const std::vector<RequestGroup>* groups :
       {&report.models, &report.by_priority, &report.tenants}) {
    for (const RequestGroup& group : *groups) tiles.push_back(group_tile(group, report));
  }
  if (report.fairness) {
    tiles.push_back(
        {"Fairness", fmt::format("{:.3f}", *report.fairness), "of 1", "Jain's index over tenants"});
  }
  for (const auto& [name, table, row] : {std::tuple("TTFT", "ttft_ms", report.ttft_ms),
                                         std::tuple("TPOT", "tpot_ms", report.tpot_ms),
                                         std::tuple("End to end", "e2e_ms", report.e2e_ms)}) {
    if (row.max > 0) tiles.push_back(latency_tile(name, report, table, row));
  }
  tiles.push_back(
      {"Output", brief(report.throughput.output_tokens_per_s), "tokens/s",
       report.gpus > 1
           ? fmt::format("{} per GPU · {} GPUs",
                         brief(report.throughput.output_tokens_per_s / report.gpus),
                         grouped(std::int64_t{report.gpus}))
           : fmt::format("{} input tokens/s", brief(report.throughput.input_tokens_per_s))});
  const Report::Requests& requests = report.requests;
  tiles.push_back(
      {"Requests", grouped(requests.completed), fmt::format("of {}", grouped(requests.arrived)),
       requests_note(report),
       requests.completed == requests.arrived ? PageTile::Tone::plain : PageTile::Tone::bad});
  if (report.cost) {
    const std::string per_hour = grouped(report.cost->per_hour, 2);
    if (const auto& tokens = report.cost->per_million_output_tokens) {
      tiles.push_back({"Cost", fmt::format("${:.2f}", *tokens), "per M tokens",
                       fmt::format("{}of output · ${} an hour",
                                   within(report, "cost", "per_million_output_tokens"), per_hour)});
    } else {
      tiles.push_back({"Cost", "$" + per_hour, "an hour", "no output tokens"});
    }
  }
  const std::string shown_pool = kv_pool(report);
  tiles.push_back(
      {"KV cache peak", percent(report.kv.peak), "",
       fmt::format("{}mean {} · {}", shown_pool.empty() ? "" : "of " + shown_pool + " · ",
                   percent(report.kv.mean),
                   report.kv.preemptions > 0 ? counted(report.kv.preemptions, "preemption")
                                             : "no preemptions")});
  tiles.push_back({"GPU busy", percent(report.gpu_busy), "",
                   fmt::format("batch mean {}, max {}", grouped(report.batch_mean, 1),
                               grouped(report.batch_max))});
  if (report.energy_j_per_token) {
    tiles.push_back({"Energy", brief(*report.energy_j_per_token), "J/token",
                     report.energy ? brief(report.energy->per_request_j) + " J per request" : ""});
  }
  page.tiles(tiles);
}

void add_timelines(ReportPage& page, const Report& report) {
  if (report.timeline.size() < 2) return;
  const double last = report.timeline.back().time_s;
  const auto [unit, name] = last > 3 * 3600.0 ? std::pair(3600.0, "h")
                            : last > 1200.0   ? std::pair(60.0, "min")
                                              : std::pair(1.0, "s");
  const PageAxis time{fmt::format("time, {}", name)};
  page.section("Over time",
               fmt::format("Averages over {} intervals.", duration(report.timeline_interval_s)));
  PageSeries series;
  for (const TimelinePoint& point : report.timeline) series.x.push_back(point.time_s / unit);
  const auto add = [&](const char* title, const char* label, double TimelinePoint::*figure,
                       bool is_share = false) {
    series.name = label;
    series.kind = PageSeries::Kind::area;
    series.y.clear();
    for (const TimelinePoint& point : report.timeline) series.y.push_back(point.*figure);
    PageChart chart;
    chart.title = title;
    chart.x = time;
    chart.y.label = label;
    chart.y.is_share = is_share;
    chart.series = {series};
    chart.sync = "time";
    page.chart(chart);
  };
  add("Running", "sequences", &TimelinePoint::running);
  add("Queue", "requests waiting", &TimelinePoint::waiting);
  add("KV cache in use", "share of blocks", &TimelinePoint::kv_used, true);
  add("Throughput", "output tokens/s", &TimelinePoint::output_tokens_per_s);
  if (report.fleet) add("Replicas", "serving replicas", &TimelinePoint::replicas);
}

/// What time that no kernel's price explains went to.
std::string bound_of(const std::string& family) {
  if (family == "shared_communication") return "network";
  if (family == "kv_copy") return "KV copies";
  return spelled(family);
}

void add_time(ReportPage& page, const Report& report) {
  double total = 0;
  for (const NamedSeconds& family : report.time_by) total += family.seconds;
  if (!(total > 0)) return;
  page.section("Where the time went",
               "GPU time of all stages and replicas by kernel family and communication, and by "
               "bottleneck: tensor cores, other pipes, memory levels, launches or links.");
  std::vector<PageBar> bars;
  std::vector<std::pair<std::string, double>> by_bound;
  const auto count = [&](const std::string& bound, double seconds) {
    const auto known = std::ranges::find(by_bound, bound, &std::pair<std::string, double>::first);
    if (known != by_bound.end()) {
      known->second += seconds;
    } else {
      by_bound.emplace_back(bound, seconds);
    }
  };
  for (const NamedSeconds& family : report.time_by) {
    PageBar& bar = bars.emplace_back();
    bar.name = spelled(family.name);
    bar.value = fmt::format("{} · {}", percent(family.seconds / total), duration(family.seconds));
    const auto priced = std::ranges::find(report.families, family.name, &FamilyFigures::name);
    if (priced != report.families.end()) {
      for (const NamedSeconds& part : priced->by_bound)
        bar.parts.emplace_back(part.name, part.seconds);
    } else {
      bar.parts.emplace_back(bound_of(family.name), family.seconds);
    }
    for (const auto& [bound, seconds] : bar.parts) count(bound, seconds);
  }
  std::ranges::stable_sort(by_bound, std::greater(), &std::pair<std::string, double>::second);
  std::vector<PageBar> bounds;
  for (const auto& [bound, seconds] : by_bound) {
    bounds.push_back({bound,
                      fmt::format("{} · {}", percent(seconds / total), duration(seconds)),
                      {{bound, seconds}}});
  }
  page.bars("By kernel family", bars, total);
  page.bars("By bottleneck", bounds, total);
}

/// The roofs over the points' range: up to the ridge the memory's slope, then flat.
std::vector<PageSeries> roofs(const Roofline& roofline) {
  double low = 1e300, high = 0;
  for (const Roofline::Point& point : roofline.points) {
    low = std::min(low, point.flops_per_byte);
    high = std::max(high, point.flops_per_byte);
  }
  std::vector<PageSeries> series;
  for (const Roofline::Gpu& gpu : roofline.gpus) {
    const std::string whose = roofline.gpus.size() > 1 ? gpu.title + ", " : "";
    for (const auto& [dtype, peak] : gpu.peaks) {
      const double ridge = peak / gpu.bytes_per_s;
      const double left = std::min(low, ridge) / 2, right = std::max(high, ridge) * 4;
      series.push_back({fmt::format("{}{} peak {} TFLOP/s, memory {} TB/s", whose, dtype,
                                    brief(peak / 1e12), brief(gpu.bytes_per_s / 1e12)),
                        PageSeries::Kind::line,
                        {left, ridge, right},
                        {left * gpu.bytes_per_s / 1e12, peak / 1e12, peak / 1e12}});
    }
  }
  return series;
}

void add_roofline(ReportPage& page, const Report& report) {
  if (!report.roofline || report.roofline->points.empty()) return;
  const Roofline& roofline = *report.roofline;
  page.section("Kernels against the GPU's limits",
               fmt::format("Roofline of kernels from {}, spread over the run: achieved throughput "
                           "over arithmetic intensity. A point's area is its share of their time.",
                           counted(roofline.steps, "step")));
  PageChart chart;
  chart.title = "Roofline";
  chart.x = {"flop / byte of memory traffic", true};
  chart.y = {"TFLOP/s reached", true};
  chart.series = roofs(roofline);
  const double largest = roofline.points.front().share;
  std::vector<std::string> families;  // by share: points are sorted by it
  for (const Roofline::Point& point : roofline.points) {
    if (std::ranges::find(families, point.family) == families.end()) {
      families.push_back(point.family);
    }
  }
  for (const std::string& family : families) {
    PageSeries series{spelled(family), PageSeries::Kind::points, {}, {}};
    for (const Roofline::Point& point : roofline.points) {
      if (point.family != family) continue;
      series.x.push_back(point.flops_per_byte);
      series.y.push_back(point.flops_per_s / 1e12);
      series.size.push_back(point.share / largest);
      series.notes.push_back(fmt::format("{}: {} · {} us per call · bound by {} · {} of the time",
                                         point.role, point.shape, brief(point.us_a_call),
                                         point.bound, percent(point.share)));
    }
    chart.series.push_back(std::move(series));
  }
  page.chart(chart);
}

/// All figures with what prices may make of them.
void add_intervals(ReportPage& page, const Report& report) {
  if (!report.intervals) return;
  page.section(
      "90 % intervals of the figures",
      fmt::format(
          "Each figure lies in its interval with probability {} if step-time errors are as on "
          "held-out data: ± {}. {}",
          fmt::format("{:.0f} %", 100 * interval_confidence),
          percent(report.step_error.half_width(interval_confidence)),
          report.intervals->is_simulated
              ? "From two more simulations, with all kernel times at the low and the high end."
              : "Estimated from this run; [run] intervals = \"simulate\" simulates both ends "
                "instead, which captures queueing."));
  std::vector<std::string> names;
  std::vector<double> values, lows, highs;
  for (const Figure& figure : figures()) {
    const auto interval = interval_of(report, figure);
    if (!interval || interval->high == 0 || (figure.is_per_gpu && report.gpus == 1)) continue;
    names.push_back(fmt::format("{}, {}", figure.title, figure.unit));
    values.push_back(figure.value(report) * figure.scale());
    lows.push_back(interval->low * figure.scale());
    highs.push_back(interval->high * figure.scale());
  }
  page.table(
      "figure",
      {PageColumn::of_texts("figure", names), PageColumn::of_numbers("simulated", "", 2, values),
       PageColumn::of_numbers("from", "", 2, lows), PageColumn::of_numbers("to", "", 2, highs)});
}

void add_accuracy(ReportPage& page, const Report& report) {
  page.section("Kernel-price error",
               "Mean relative error per kernel family on held-out measurements: held-out layouts "
               "or, for a GPU that was never measured, held-out GPUs.");
  double total = 0;
  for (const NamedSeconds& family : report.time_by) total += family.seconds;
  std::vector<std::string> names;
  std::vector<double> shares, errors;
  for (const NamedSeconds& family : report.time_by) {
    const auto& known = report.step_error.families;
    const auto priced = std::ranges::find(known, family.name, &FamilyError::family);
    const double error = priced != known.end() ? priced->error : 0;
    names.push_back(spelled(family.name));
    shares.push_back(total > 0 ? family.seconds / total * 100 : 0);
    errors.push_back(error > 0 ? error * 100 : std::nan(""));
  }
  std::vector<PageColumn> columns = {PageColumn::of_texts("family", names),
                                     PageColumn::of_numbers("share of GPU time", "%", 1, shares)};
  columns.push_back(PageColumn::of_numbers("error", "%", 1, errors));
  if (!names.empty()) page.table("family", columns);
  std::vector<std::string> notes;
  std::string origins;
  for (const NamedCount& origin : report.origins) {
    origins += fmt::format("{}{} {}", origins.empty() ? "" : ", ", grouped(origin.count),
                           spelled(origin.name));
  }
  notes.push_back(
      fmt::format("Weighted by time, the mean error is {}. Errors of all families are assumed to "
                  "have the same sign, which is conservative.",
                  percent(report.step_error.mean_absolute())));
  if (!origins.empty()) {
    notes.push_back(fmt::format(
        "Source of kernel times: {}. Learned: a model trained on this GPU among others. "
        "Transferred: trained on other GPUs only. Adapted: transferred, corrected by a few "
        "launches on this GPU. Analytic: a formula over the specification.",
        origins));
  }
  notes.push_back("calibration/ACCURACY.md compares whole runs with real servers.");
  page.notes(notes);
}

void add_memory(ReportPage& page, const std::string& title, const std::vector<NamedCount>& pieces) {
  double capacity = 0;
  std::vector<PageBar> bars;
  for (const NamedCount& part : pieces) {
    if (part.name == "capacity") capacity = static_cast<double>(part.count);
  }
  for (const NamedCount& part : pieces) {
    if (part.name == "capacity" || part.name == "overcommitted" || part.count <= 0) continue;
    const auto bytes = static_cast<double>(part.count);
    bars.push_back({spelled(part.name),
                    fmt::format("{:.2f} GiB", bytes / (1 << 30)),
                    {{spelled(part.name), bytes}}});
  }
  page.bars(title, bars, capacity);
}

}  // namespace

void add_run(ReportPage& page, const Report& report) {
  add_timelines(page, report);
  add_pools(page, report);
  add_time(page, report);
  for (const PoolMemory& memory : pool_memories(report)) {
    add_memory(page, memory.pool.empty() ? "Memory per GPU" : "Memory per GPU of " + memory.pool,
               memory.pieces);
  }
  if (report.sides) {
    page.notes({fmt::format("Experts apart: {}.", fmt::join(side_parts(*report.sides), " · "))});
    add_memory(page, "Memory per expert GPU", report.sides->memory_bytes);
  }
  add_roofline(page, report);
  add_request_table(page, report);
  add_accuracy(page, report);
  add_intervals(page, report);
  page.section("Scenario",
               "With every default filled in; simulating this file reproduces the run.");
  page.text("Terminal output", report_table(report, false));
  page.text("scenario.toml", to_toml(report.scenario));
}

std::string report_page(const Report& report) {
  ReportPage page(report.title, "simulation", report.version);
  add_tiles(page, report);
  add_latency_charts(page, report);
  add_run(page, report);
  return page.html();
}

}  // namespace foretoken

#include "sim/report/point_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>

#include "sim/report/number_text.hpp"
#include "sim/report/point_statistics.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

std::string whole_text(double share) { return fmt::format("{:.0f}", 100.0 * share); }
std::string percent_text(double share) { return fmt::format("{:.1f}", 100.0 * share); }
std::string signed_text(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

/// Groups with their errors, for terminal and JSON.
ResultTable group_columns(const std::map<PointGroup, ComparedPoints>& groups, bool by_users) {
  using enum ResultKind;
  struct Row {
    PointGroup group;
    PointStatistics found;
  };
  std::vector<Row> rows;
  for (const auto& [group, points] : groups) rows.push_back({group, statistics_of(points)});
  ResultTable table;
  const ColumnsOf add(table, rows);
  add({"model", "", "", "model"}, [](const Row& row) { return row.group.model; });
  add({"engine", "", "", "engine"}, [](const Row& row) { return row.group.engine; });
  add({"part", "", "", "part"}, [](const Row& row) { return row.group.part; });
  add({"users", "", "", "users", count}, [&](const Row& row) {
    return by_users ? ResultCell::of(row.group.users) : ResultCell{.shown = "all"};
  });
  add({"points", "", "", "points", count}, [](const Row& row) { return row.found.points; });
  const auto add_errors = [&](const std::string& name, const std::string& title,
                              LatencyErrors PointStatistics::*of) {
    add({name + "_median_error", "", "", title + " %", number, {}, percent_text},
        [of](const Row& row) { return (row.found.*of).median; });
    add({name + "_bias", "", "", "bias", number, {}, signed_text},
        [of](const Row& row) { return (row.found.*of).bias; });
    add({name + "_within", "", "", "within", number, {}, whole_text}, [of](const Row& row) {
      const auto& within = (row.found.*of).within;
      return within ? ResultCell::of(*within) : ResultCell{.shown = "-"};
    });
  };
  add_errors("tpot", "TPOT", &PointStatistics::tpot);
  add_errors("ttft", "TTFT", &PointStatistics::ttft);
  return table;
}

ResultTable host_columns(const std::vector<HostResidual>& residuals) {
  using enum ResultKind;
  ResultTable table;
  const ColumnsOf add(table, residuals);
  add({"model", "", "", "model"}, &HostResidual::model);
  add({"engine", "", "", "engine"}, &HostResidual::engine);
  add({"part", "", "", "part"},
      [](const HostResidual& one) { return one.is_calibration ? "calibration" : "test"; });
  add({"points", "", "", "points", count}, &HostResidual::points);
  add({"host_share", "", "", "host share", share}, &HostResidual::share);
  add({"host_alone", "", "", "host alone %", number, {}, signed_text}, &HostResidual::alone);
  add({"gpu", "", "", "or GPU %", number, {}, signed_text}, &HostResidual::gpu);
  add({"host", "", "", "and host %", number, {}, signed_text}, &HostResidual::host);
  add({"host_deviation", "", "", "±", number, {}, percent_text}, &HostResidual::host_deviation);
  return table;
}

std::string worst_text(const PointReport& report, std::size_t worst,
                       const TextTable::Layout& layout) {
  ComparedPoints points;
  for (const ComparedPoint& point : report.points) {
    if (point.failure.empty()) points.push_back(&point);
  }
  std::ranges::stable_sort(points, std::ranges::greater(), [](const ComparedPoint* point) {
    return std::abs(point->tpot_error());
  });
  points.resize(std::min(points.size(), worst));
  std::string text = point_columns(points).terminal("").text(layout);
  if (!points.empty()) {
    text += "  the first as a scenario: --scenario-of " + points.front()->id + "\n";
  }
  return text;
}

/// All points of a part together.
std::map<PointGroup, ComparedPoints> totals_of(const PointReport& report) {
  std::map<PointGroup, ComparedPoints> totals;
  for (const auto& [group, points] : groups_of(report, false)) {
    ComparedPoints& all = totals[{"all", "", group.part, 0}];
    all.insert(all.end(), points.begin(), points.end());
  }
  return totals;
}

std::string host_text(const PointReport& report, const TextTable::Layout& layout) {
  const std::vector<HostResidual> residuals = host_residuals(report);
  if (residuals.empty()) return "";
  double sum = 0;
  std::int64_t count = 0;
  for (const HostResidual& residual : residuals) {
    if (residual.is_calibration) continue;
    sum += std::abs(residual.alone);
    ++count;
  }
  std::string text =
      "\n  unexplained part of measured TPOTs, by least squares: host time alone, or GPU and "
      "host\n" +
      host_columns(residuals).terminal("").text(layout);
  if (count > 0) {
    text += fmt::format(
        "  host time of {} not used for calibration: mean error {} % if all of it is CPU time\n",
        counted(count, "server"), percent_text(sum / static_cast<double>(count)));
  }
  return text;
}

/// What is said of points whose drafts nobody recorded, and of the others with them.
std::string unclear_text(const PointReport& report) {
  ComparedPoints all;
  std::int64_t unclear = 0;
  for (const ComparedPoint& point : report.points) {
    if (!point.failure.empty() || part_name(point) == "calibration") continue;
    all.push_back(&point);
    unclear += point.is_unclear ? 1 : 0;
  }
  if (unclear == 0) return "";
  const PointStatistics found = statistics_of(all);
  return fmt::format(
      "  unclear: rows of one configuration differ by more than 1.5x, so some must have used\n"
      "  speculative decoding, but none says which; test points with them: TPOT {} %, TTFT {} %\n",
      percent_text(found.tpot.median), percent_text(found.ttft.median));
}

Value left_out_value(const PointReport& report) {
  ValueArray rows;
  for (const LeftOutRow& row : report.left_out) {
    rows.emplace_back(ValueObject{
        {"id", row.id}, {"file", row.file}, {"line", row.line}, {"reason", row.reason}});
  }
  return rows;
}

void count_place(LeftOutCount& counted, const std::string& place) {
  if (++counted.count == 1) counted.first = place;
}

}  // namespace

std::string part_name(const ComparedPoint& point) {
  return point.is_unclear ? "unclear" : point.is_calibration ? "calibration" : "test";
}

std::string LeftOutCount::place_text() const {
  if (first.empty()) return "";
  return fmt::format(" ({}{})", count > 1 ? "first: " : "", first);
}

std::map<std::string, LeftOutCount> PointReport::reasons_left_out() const {
  std::map<std::string, LeftOutCount> counts;
  for (const LeftOutRow& row : left_out) {
    const std::string name = std::filesystem::path(row.file).filename().string();
    count_place(counts[row.reason], name.empty() ? "" : fmt::format("{}:{}", name, row.line));
  }
  return counts;
}

std::map<std::string, LeftOutCount> PointReport::failures() const {
  std::map<std::string, LeftOutCount> counts;
  for (const ComparedPoint& point : points) {
    if (!point.failure.empty()) count_place(counts[point.failure], point.place);
  }
  return counts;
}

std::string point_text(const PointReport& report, bool colour, int width, std::size_t worst) {
  const Ink ink(colour);
  const TextTable::Layout layout{.width = width, .indent = 2, .gap = 2, .colour = colour};
  std::string text =
      fmt::format("  {}\n  median absolute error of each group; bias: median signed error\n\n",
                  ink.strong("mean TPOT and TTFT under a fixed number of users"));
  std::map<PointGroup, ComparedPoints> groups = groups_of(report, false);
  const bool has_intervals = std::ranges::any_of(
      report.points, [](const ComparedPoint& point) { return point.tpot_interval.has_value(); });
  groups.merge(totals_of(report));
  text += group_columns(groups, false).terminal("").text(layout);
  if (has_intervals) {
    text +=
        fmt::format("  within: share of measured values (%) inside the simulation's {} interval\n",
                    fmt::format("{:.0f} %", 100 * interval_confidence));
  }
  text += unclear_text(report) + host_text(report, layout) + "\n";
  text += group_columns(groups_of(report, true), true).terminal("").text(layout);
  if (worst > 0) text += "\n  largest TPOT errors\n" + worst_text(report, worst, layout);
  for (const auto& [reason, rows] : report.failures()) {
    text +=
        fmt::format("\n  {}: {}{}\n", ink.warning(counted(rows.count, "point") + " not simulated"),
                    reason, rows.place_text());
  }
  for (const auto& [reason, rows] : report.reasons_left_out()) {
    text += fmt::format("\n  {} excluded: {}{}\n", counted(rows.count, "row"), reason,
                        rows.place_text());
  }
  return text;
}

ResultTable point_columns(const ComparedPoints& points) {
  using enum ResultKind;
  using Point = const ComparedPoint*;
  ResultTable table;
  const ColumnsOf add(table, points);
  add({"id"}, [](Point p) { return p->id; });
  add({"model", "model", "", "model"}, [](Point p) { return p->model; });
  add({"engine", "engine", "", "engine"}, [](Point p) { return p->engine; });
  add({"gpu"}, [](Point p) { return p->gpu; });
  add({"layout", "layout", "", "layout"}, [](Point p) { return p->layout; });
  add({"table"}, [](Point p) { return p->table; });
  add({"part", "part"}, [](Point p) { return part_name(*p); });
  add({"prompt_tokens", "prompt", "tokens", "prompt", count},
      [](Point p) { return p->prompt_tokens; });
  add({"output_tokens", "output", "tokens", "answer", count},
      [](Point p) { return p->output_tokens; });
  add({"users", "users", "", "users", count}, [](Point p) { return p->users; });
  const auto add_latency = [&](const std::string& key, const std::string& title, int decimals,
                               double ComparedPoint::*measured, double ComparedPoint::*simulated,
                               double (ComparedPoint::*error)() const) {
    const auto if_simulated = [](const auto& content_of) {
      return [content_of](Point p) {
        return p->failure.empty() ? std::optional<double>(std::invoke(content_of, *p))
                                  : std::nullopt;
      };
    };
    add({"", title + " measured", "ms", "", number, decimals},
        [measured](Point p) { return p->*measured; });
    add({"measured_" + key, "", "", title + " ms", number}, if_simulated(measured));
    add({"simulated_" + key, "", "", "simulated", number}, if_simulated(simulated));
    add({"", title + " error", "%", "", share, 1}, if_simulated(error));
  };
  add_latency("tpot_ms", "TPOT", 2, &ComparedPoint::measured_tpot_ms,
              &ComparedPoint::simulated_tpot_ms, &ComparedPoint::tpot_error);
  add_latency("ttft_ms", "TTFT", 1, &ComparedPoint::measured_ttft_ms,
              &ComparedPoint::simulated_ttft_ms, &ComparedPoint::ttft_error);
  return table;
}

Value point_value(const PointReport& report) {
  ValueArray groups = group_columns(groups_of(report, false), false).json();
  std::ranges::move(group_columns(groups_of(report, true), true).json(),
                    std::back_inserter(groups));
  ComparedPoints all;
  for (const ComparedPoint& point : report.points) all.push_back(&point);
  ValueArray points = point_columns(all).json();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!all[i]->failure.empty()) {
      points[i].set("failure", all[i]->failure);
      continue;
    }
    points[i].set("host_ms", rounded(all[i]->host_ms));
    const auto set = [&](const char* name, const std::optional<FigureInterval>& interval) {
      if (interval)
        points[i].set(name, ValueArray{rounded(interval->low), rounded(interval->high)});
    };
    set("ttft_interval_ms", all[i]->ttft_interval);
    set("tpot_interval_ms", all[i]->tpot_interval);
  }
  return ValueObject{{"groups", std::move(groups)},
                     {"host", host_columns(host_residuals(report)).json()},
                     {"points", std::move(points)},
                     {"left_out", left_out_value(report)}};
}

}  // namespace foretoken

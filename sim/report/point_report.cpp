#include "sim/report/point_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/report/number_text.hpp"
#include "sim/report/point_statistics.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}", 100.0 * *share) : "-";
}

std::string percent_text(double share) { return fmt::format("{:.1f}", 100.0 * share); }
std::string signed_text(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

std::string table_text(const std::map<PointGroup, ComparedPoints>& groups,
                       const TextTable::Layout& layout) {
  TextTable table({{"model", Align::left},
                   {"engine", Align::left},
                   {"part", Align::left},
                   {"users", Align::right},
                   {"points", Align::right},
                   {"TPOT %", Align::right},
                   {"bias", Align::right},
                   {"within", Align::right},
                   {"TTFT %", Align::right},
                   {"bias", Align::right},
                   {"within", Align::right}});
  for (const auto& [group, points] : groups) {
    const PointStatistics found = statistics_of(points);
    table.add_row({group.model, group.engine, group.part,
                   group.users == 0 ? "all" : grouped(std::int64_t{group.users}),
                   grouped(found.points), percent_text(found.tpot.median),
                   signed_text(found.tpot.bias), share_text(found.tpot.within),
                   percent_text(found.ttft.median), signed_text(found.ttft.bias),
                   share_text(found.ttft.within)});
  }
  return table.text(layout);
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
  TextTable table({{"model", Align::left},
                   {"engine", Align::left},
                   {"layout", Align::left},
                   {"prompt", Align::right},
                   {"answer", Align::right},
                   {"users", Align::right},
                   {"TPOT ms", Align::right},
                   {"simulated", Align::right},
                   {"TTFT ms", Align::right},
                   {"simulated", Align::right}});
  for (const ComparedPoint* point : points) {
    table.add_row({point->model, point->engine, point->layout,
                   grouped(std::int64_t{point->prompt_tokens}),
                   grouped(std::int64_t{point->output_tokens}), grouped(std::int64_t{point->users}),
                   brief(point->measured_tpot_ms), brief(point->simulated_tpot_ms),
                   brief(point->measured_ttft_ms), brief(point->simulated_ttft_ms)});
  }
  return table.text(layout);
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
  TextTable table({{"model", Align::left},
                   {"engine", Align::left},
                   {"part", Align::left},
                   {"points", Align::right},
                   {"host share", Align::right},
                   {"host alone %", Align::right},
                   {"or GPU %", Align::right},
                   {"and host %", Align::right},
                   {"±", Align::right}});
  double sum = 0;
  std::int64_t count = 0;
  for (const HostResidual& residual : residuals) {
    table.add_row({residual.model, residual.engine,
                   residual.is_calibration ? "calibration" : "test", grouped(residual.points),
                   percent(residual.share), signed_text(residual.alone), signed_text(residual.gpu),
                   signed_text(residual.host), percent_text(residual.host_deviation)});
    if (residual.is_calibration) continue;
    sum += std::abs(residual.alone);
    ++count;
  }
  std::string text =
      "\n  unexplained part of measured TPOTs, by least squares: host time alone, or GPU and "
      "host\n" +
      table.text(layout);
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
      "  unclear: rows of one configuration differ by more than 1.5 times, so that some must have\n"
      "  drafted tokens, and none says which; test points with them: TPOT {} %, TTFT {} %\n",
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

}  // namespace

std::string part_name(const ComparedPoint& point) {
  return point.is_unclear ? "unclear" : point.is_calibration ? "calibration" : "test";
}

std::map<std::string, std::int64_t> PointReport::reasons_left_out() const {
  std::map<std::string, std::int64_t> counts;
  for (const LeftOutRow& row : left_out) ++counts[row.reason];
  return counts;
}

std::map<std::string, std::int64_t> PointReport::failures() const {
  std::map<std::string, std::int64_t> counts;
  for (const ComparedPoint& point : points) {
    if (!point.failure.empty()) ++counts[point.failure];
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
  text += table_text(groups, layout);
  if (has_intervals) {
    text +=
        fmt::format("  within: share of measured values (%) inside the simulation's {} interval\n",
                    fmt::format("{:.0f} %", 100 * interval_confidence));
  }
  text += unclear_text(report) + host_text(report, layout) + "\n";
  text += table_text(groups_of(report, true), layout);
  if (worst > 0) text += "\n  largest TPOT errors\n" + worst_text(report, worst, layout);
  for (const auto& [reason, count] : report.failures()) {
    text += fmt::format("\n  {}: {}\n", ink.warning(counted(count, "point") + " not simulated"),
                        reason);
  }
  for (const auto& [reason, count] : report.reasons_left_out()) {
    text += fmt::format("\n  {} left out: {}\n", counted(count, "row"), reason);
  }
  return text;
}

Value point_value(const PointReport& report) {
  ValueArray groups, points;
  for (const bool by_users : {false, true}) {
    for (const auto& [group, members] : groups_of(report, by_users)) {
      Value value;
      value.set("model", group.model);
      value.set("engine", group.engine);
      value.set("part", group.part);
      if (by_users) value.set("users", group.users);
      const PointStatistics found = statistics_of(members);
      value.set("points", found.points);
      const auto set = [&](const std::string& name, const LatencyErrors& errors) {
        value.set(name + "_median_error", rounded(errors.median));
        value.set(name + "_bias", rounded(errors.bias));
        if (errors.within) value.set(name + "_within", rounded(*errors.within));
      };
      set("tpot", found.tpot);
      set("ttft", found.ttft);
      groups.push_back(std::move(value));
    }
  }
  for (const ComparedPoint& point : report.points) {
    Value value;
    value.set("id", point.id);
    value.set("model", point.model);
    value.set("engine", point.engine);
    value.set("gpu", point.gpu);
    value.set("layout", point.layout);
    value.set("users", point.users);
    value.set("prompt_tokens", point.prompt_tokens);
    value.set("output_tokens", point.output_tokens);
    value.set("part", part_name(point));
    if (point.failure.empty()) {
      value.set("measured_ttft_ms", rounded(point.measured_ttft_ms));
      value.set("simulated_ttft_ms", rounded(point.simulated_ttft_ms));
      value.set("measured_tpot_ms", rounded(point.measured_tpot_ms));
      value.set("simulated_tpot_ms", rounded(point.simulated_tpot_ms));
      value.set("host_ms", rounded(point.host_ms));
      const auto set = [&](const char* name, const std::optional<FigureInterval>& interval) {
        if (interval) value.set(name, ValueArray{rounded(interval->low), rounded(interval->high)});
      };
      set("ttft_interval_ms", point.ttft_interval);
      set("tpot_interval_ms", point.tpot_interval);
    } else {
      value.set("failure", point.failure);
    }
    points.push_back(std::move(value));
  }
  ValueArray hosts;
  for (const HostResidual& residual : host_residuals(report)) {
    hosts.emplace_back(ValueObject{{"model", residual.model},
                                   {"engine", residual.engine},
                                   {"part", residual.is_calibration ? "calibration" : "test"},
                                   {"points", residual.points},
                                   {"host_share", rounded(residual.share)},
                                   {"host_alone", rounded(residual.alone)},
                                   {"gpu", rounded(residual.gpu)},
                                   {"host", rounded(residual.host)},
                                   {"host_deviation", rounded(residual.host_deviation)}});
  }
  Value value;
  value.set("groups", std::move(groups));
  value.set("host", std::move(hosts));
  value.set("points", std::move(points));
  value.set("left_out", left_out_value(report));
  return value;
}

}  // namespace foretoken

#include "sim/report/point_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "sim/report/number_text.hpp"
#include "sim/report/rounding.hpp"
#include "sim/report/text_table.hpp"

namespace foretoken {
namespace {

using Points = std::vector<const ComparedPoint*>;
using Error = double (ComparedPoint::*)() const;

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

double median_error(const Points& points, Error error) {
  std::vector<double> values;
  for (const ComparedPoint* point : points) values.push_back((point->*error)());
  return median_size(std::move(values));
}

double bias(const Points& points, Error error) {
  std::vector<double> values;
  for (const ComparedPoint* point : points) values.push_back((point->*error)());
  return median(std::move(values));
}

/// Share of the measured values that lie within the intervals; nullopt where there are none.
std::optional<double> coverage(const Points& points, double ComparedPoint::*measured,
                               std::optional<FigureInterval> ComparedPoint::*interval) {
  std::int64_t within = 0, all = 0;
  for (const ComparedPoint* point : points) {
    const std::optional<FigureInterval>& bounds = point->*interval;
    if (!bounds) continue;
    ++all;
    if (point->*measured >= bounds->low && point->*measured <= bounds->high) ++within;
  }
  if (all == 0) return std::nullopt;
  return static_cast<double>(within) / static_cast<double>(all);
}

std::optional<double> tpot_coverage(const Points& points) {
  return coverage(points, &ComparedPoint::measured_tpot_ms, &ComparedPoint::tpot_interval);
}
std::optional<double> ttft_coverage(const Points& points) {
  return coverage(points, &ComparedPoint::measured_ttft_ms, &ComparedPoint::ttft_interval);
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}", 100.0 * *share) : "-";
}

std::string percent_text(double share) { return fmt::format("{:.1f}", 100.0 * share); }
std::string signed_text(double share) { return fmt::format("{:+.1f}", 100.0 * share); }

std::string part_name(const ComparedPoint& point) {
  return point.is_calibration ? "calibration" : "test";
}

struct Group {
  std::string model, engine, part;
  int users = 0;  // 0 = all
  auto operator<=>(const Group&) const = default;
};

std::map<Group, Points> groups_of(const PointReport& report, bool by_users) {
  std::map<Group, Points> groups;
  for (const ComparedPoint& point : report.points) {
    if (!point.failure.empty()) continue;
    groups[{point.model, point.engine, part_name(point), by_users ? point.users : 0}].push_back(
        &point);
  }
  return groups;
}

std::string table_text(const std::map<Group, Points>& groups, const TextTable::Layout& layout) {
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
    table.add_row(
        {group.model, group.engine, group.part,
         group.users == 0 ? "all" : grouped(std::int64_t{group.users}),
         grouped(static_cast<std::int64_t>(points.size())),
         percent_text(median_error(points, &ComparedPoint::tpot_error)),
         signed_text(bias(points, &ComparedPoint::tpot_error)), share_text(tpot_coverage(points)),
         percent_text(median_error(points, &ComparedPoint::ttft_error)),
         signed_text(bias(points, &ComparedPoint::ttft_error)), share_text(ttft_coverage(points))});
  }
  return table.text(layout);
}

std::string worst_text(const PointReport& report, std::size_t worst,
                       const TextTable::Layout& layout) {
  Points points;
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
std::map<Group, Points> totals_of(const PointReport& report) {
  std::map<Group, Points> totals;
  for (const auto& [group, points] : groups_of(report, false)) {
    Points& all = totals[{"all", "", group.part, 0}];
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

Value left_out_value(const PointReport& report) {
  ValueArray rows;
  for (const LeftOutRow& row : report.left_out) {
    rows.emplace_back(ValueObject{{"id", row.id}, {"line", row.line}, {"reason", row.reason}});
  }
  return rows;
}

}  // namespace

double median_size(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return median(std::move(errors));
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

std::vector<HostResidual> host_residuals(const PointReport& report) {
  constexpr std::size_t points_min = 20;  // ten an unknown
  std::vector<HostResidual> residuals;
  for (const auto& [group, points] : groups_of(report, false)) {
    // Relative to the measured TPOT: missing = gpu * (TPOT - host) + host * host.
    double gg = 0, gh = 0, hh = 0, gy = 0, hy = 0, yy = 0, share = 0;
    for (const ComparedPoint* point : points) {
      const double whole = point->measured_tpot_ms;
      const double g = (point->simulated_tpot_ms - point->host_ms) / whole;
      const double h = point->host_ms / whole;
      const double y = 1 - point->simulated_tpot_ms / whole;
      gg += g * g, gh += g * h, hh += h * h, gy += g * y, hy += h * y, yy += y * y;
      share += point->host_ms / point->simulated_tpot_ms;
    }
    const double determinant = gg * hh - gh * gh;
    if (points.size() < points_min || hh <= 0 || determinant <= 0) continue;
    HostResidual& found = residuals.emplace_back();
    std::tie(found.model, found.engine) = std::tie(group.model, group.engine);
    found.is_calibration = points.front()->is_calibration;
    found.points = static_cast<std::int64_t>(points.size());
    found.share = share / static_cast<double>(points.size());
    found.alone = hy / hh;
    found.gpu = (gy * hh - hy * gh) / determinant;
    found.host = (hy * gg - gy * gh) / determinant;
    const double left = std::max(0.0, yy - found.gpu * gy - found.host * hy);
    found.host_deviation =
        std::sqrt(left / static_cast<double>(points.size() - 2) * gg / determinant);
  }
  return residuals;
}

std::string point_text(const PointReport& report, bool colour, int width, std::size_t worst) {
  const Ink ink(colour);
  const TextTable::Layout layout{.width = width, .indent = 2, .gap = 2, .colour = colour};
  std::string text =
      fmt::format("  {}\n  median absolute error of each group; bias: median signed error\n\n",
                  ink.strong("mean TPOT and TTFT under a fixed number of users"));
  std::map<Group, Points> groups = groups_of(report, false);
  const bool has_intervals = std::ranges::any_of(
      report.points, [](const ComparedPoint& point) { return point.tpot_interval.has_value(); });
  groups.merge(totals_of(report));
  text += table_text(groups, layout);
  if (has_intervals) {
    text +=
        fmt::format("  within: share of measured values (%) inside the simulation's {} interval\n",
                    fmt::format("{:.0f} %", 100 * interval_confidence));
  }
  text += host_text(report, layout) + "\n";
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
      value.set("points", static_cast<std::int64_t>(members.size()));
      value.set("tpot_median_error", rounded(median_error(members, &ComparedPoint::tpot_error)));
      value.set("tpot_bias", rounded(bias(members, &ComparedPoint::tpot_error)));
      value.set("ttft_median_error", rounded(median_error(members, &ComparedPoint::ttft_error)));
      value.set("ttft_bias", rounded(bias(members, &ComparedPoint::ttft_error)));
      if (const auto share = tpot_coverage(members)) value.set("tpot_within", rounded(*share));
      if (const auto share = ttft_coverage(members)) value.set("ttft_within", rounded(*share));
      groups.push_back(std::move(value));
    }
  }
  for (const ComparedPoint& point : report.points) {
    Value value;
    value.set("id", point.id);
    value.set("model", point.model);
    value.set("engine", point.engine);
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

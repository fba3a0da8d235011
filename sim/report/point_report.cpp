#include "sim/report/point_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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
  for (const ComparedPoint* point : points) values.push_back(std::abs((point->*error)()));
  return median(std::move(values));
}

double bias(const Points& points, Error error) {
  std::vector<double> values;
  for (const ComparedPoint* point : points) values.push_back((point->*error)());
  return median(std::move(values));
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
                   {"TTFT %", Align::right},
                   {"bias", Align::right}});
  for (const auto& [group, points] : groups) {
    table.add_row({group.model, group.engine, group.part,
                   group.users == 0 ? "all" : grouped(std::int64_t{group.users}),
                   grouped(static_cast<std::int64_t>(points.size())),
                   percent_text(median_error(points, &ComparedPoint::tpot_error)),
                   signed_text(bias(points, &ComparedPoint::tpot_error)),
                   percent_text(median_error(points, &ComparedPoint::ttft_error)),
                   signed_text(bias(points, &ComparedPoint::ttft_error))});
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
                   grouped(std::int64_t{point->output_tokens}),
                   grouped(std::int64_t{point->users}), brief(point->measured_tpot_ms),
                   brief(point->simulated_tpot_ms), brief(point->measured_ttft_ms),
                   brief(point->simulated_ttft_ms)});
  }
  return table.text(layout);
}

}  // namespace

std::string point_text(const PointReport& report, bool colour, int width, std::size_t worst) {
  const Ink ink(colour);
  const TextTable::Layout layout{.width = width, .indent = 2, .gap = 2, .colour = colour};
  std::string text =
      fmt::format("  {}\n  median errors of a group, and their bias (median with its sign)\n\n",
                  ink.strong("mean TPOT and TTFT under a fixed number of users"));
  text += table_text(groups_of(report, false), layout) + "\n";
  text += table_text(groups_of(report, true), layout);
  if (worst > 0) text += "\n  furthest off by TPOT\n" + worst_text(report, worst, layout);
  std::map<std::string, std::int64_t> failures;
  for (const ComparedPoint& point : report.points) {
    if (!point.failure.empty()) ++failures[point.failure];
  }
  for (const auto& [failure, count] : failures) {
    text += fmt::format("\n  {}: {}\n", ink.warning(counted(count, "point") + " not simulated"),
                        failure);
  }
  if (report.left_out > 0) {
    text += fmt::format("\n  {} left out: the number of users of one server is not said\n",
                        counted(report.left_out, "row"));
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
      groups.push_back(std::move(value));
    }
  }
  for (const ComparedPoint& point : report.points) {
    Value value;
    value.set("id", point.id);
    value.set("part", part_name(point));
    if (point.failure.empty()) {
      value.set("measured_ttft_ms", rounded(point.measured_ttft_ms));
      value.set("simulated_ttft_ms", rounded(point.simulated_ttft_ms));
      value.set("measured_tpot_ms", rounded(point.measured_tpot_ms));
      value.set("simulated_tpot_ms", rounded(point.simulated_tpot_ms));
    } else {
      value.set("failure", point.failure);
    }
    points.push_back(std::move(value));
  }
  Value value;
  value.set("groups", std::move(groups));
  value.set("points", std::move(points));
  value.set("left_out", report.left_out);
  return value;
}

}  // namespace foretoken

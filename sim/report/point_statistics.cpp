#include "sim/report/point_statistics.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

std::optional<double> coverage(const ComparedPoints& points, double ComparedPoint::*measured,
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

LatencyErrors errors_of(const ComparedPoints& points, double (ComparedPoint::*error)() const) {
  LatencyErrors errors;
  std::vector<double> values;
  for (const ComparedPoint* point : points) {
    values.push_back((point->*error)());
    errors.mean += std::abs(values.back()) / static_cast<double>(points.size());
  }
  errors.median = median_size(values);
  errors.bias = median(std::move(values));
  return errors;
}

}  // namespace

std::map<PointGroup, ComparedPoints> groups_of(const PointReport& report, bool by_users) {
  std::map<PointGroup, ComparedPoints> groups;
  for (const ComparedPoint& point : report.points) {
    if (!point.failure.empty()) continue;
    groups[{point.model, point.engine, part_name(point), by_users ? point.users : 0}].push_back(
        &point);
  }
  return groups;
}

double median_size(std::vector<double> errors) {
  for (double& error : errors) error = std::abs(error);
  return median(std::move(errors));
}

PointStatistics statistics_of(const ComparedPoints& points) {
  PointStatistics statistics{.points = std::ssize(points),
                             .tpot = errors_of(points, &ComparedPoint::tpot_error),
                             .ttft = errors_of(points, &ComparedPoint::ttft_error)};
  statistics.tpot.within =
      coverage(points, &ComparedPoint::measured_tpot_ms, &ComparedPoint::tpot_interval);
  statistics.ttft.within =
      coverage(points, &ComparedPoint::measured_ttft_ms, &ComparedPoint::ttft_interval);
  return statistics;
}

}  // namespace foretoken

#include "sim/report/gap_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace foretoken {
namespace {

double nearest_rank(const std::vector<double>& sorted, double share) {
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  const auto last = static_cast<double>(sorted.size()) - 1;
  return sorted[static_cast<std::size_t>(std::clamp(rank - 1, 0.0, last))];
}

}  // namespace

std::vector<GapGroup> gap_groups(const GapReport& report) {
  // "" sorts first: a GPU's own line stands above its families'.
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>> gaps;
  for (const GapPoint& point : report.points) {
    gaps[{point.gpu, "", ""}].push_back(point.gap());
    gaps[{point.gpu, point.family, point.source}].push_back(point.gap());
  }
  std::vector<GapGroup> groups;
  for (auto& [key, values] : gaps) {
    std::ranges::sort(values);
    const auto first_beyond = std::ranges::upper_bound(values, report.threshold);
    groups.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key),
                      static_cast<std::int64_t>(values.size()), values.end() - first_beyond,
                      nearest_rank(values, 0.5), nearest_rank(values, 0.8),
                      nearest_rank(values, 0.9)});
  }
  return groups;
}

std::vector<GapPoint> worst_points(const GapReport& report, std::size_t count) {
  std::vector<GapPoint> points;
  for (const GapPoint& point : report.points) {
    if (point.gap() > report.threshold) points.push_back(point);
  }
  std::ranges::stable_sort(points, std::ranges::greater{}, &GapPoint::gap);
  if (points.size() > count) points.resize(count);
  return points;
}

double cumulative_share(const std::vector<double>& sorted_gaps, double gap) {
  if (sorted_gaps.empty()) return 0;
  const auto below = std::ranges::upper_bound(sorted_gaps, gap) - sorted_gaps.begin();
  return static_cast<double>(below) / static_cast<double>(sorted_gaps.size());
}

}  // namespace foretoken

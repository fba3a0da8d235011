// The diagnosis for other programs: JSON with the groups and the worst points, CSV with every
// point.
#include <algorithm>

#include "sim/report/gap_columns.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
Value gap_value(const GapReport& report, std::size_t worst) {
  std::vector<double> gaps;
  for (const GapPoint& point : report.points) gaps.push_back(point.gap());
  std::ranges::sort(gaps);
  ValueArray distribution;
  constexpr int steps = 50;
  for (int i = 0; i <= steps; ++i) {
    const double gap = i / static_cast<double>(steps);
    distribution.emplace_back(
        ValueObject{{"gap", rounded(gap)}, {"share", rounded(cumulative_share(gaps, gap))}});
  }
  const std::vector<GapPoint> worst_of_all = worst_points(report, worst);
  ValueArray points = gap_point_columns(report, worst_of_all).json();
  for (std::size_t i = 0; i < points.size(); ++i)
    points[i].set("transferred", worst_of_all[i].is_transferred);
  return ValueObject{{"threshold", rounded(report.threshold)},
                     {"points", static_cast<std::int64_t>(report.points.size())},
                     {"without_ceiling", report.without_ceiling},
                     {"groups", gap_group_columns(report, Ink(false)).json()},
                     {"distribution", std::move(distribution)},
                     {"worst", std::move(points)}};
}

std::string gap_csv(const GapReport& report) {
  return gap_point_columns(report, report.points).csv();
}

}  // namespace foretoken

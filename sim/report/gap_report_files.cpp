// The diagnosis for other programs: JSON with the groups and the worst points, CSV with every
// point.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/csv_cell.hpp"
#include "sim/report/gap_report.hpp"
#include "sim/report/rounding.hpp"

namespace foretoken {
namespace {

Value point_value(const GapPoint& point) {
  ValueObject object{{"gpu", point.gpu},
                     {"family", point.family},
                     {"source", point.source},
                     {"shape", point.shape},
                     {"row", point.place},
                     {"measured_us", rounded(point.measured_us)},
                     {"ceiling_us", rounded(point.ceiling_us)},
                     {"efficiency", rounded(point.efficiency)},
                     {"ceiling", rounded(point.ceiling)},
                     {"gap", rounded(point.gap())},
                     {"bound_by", point.bound_by},
                     {"transferred", point.is_transferred}};
  if (!point.pipe.empty()) {
    object.emplace_back("sm_pipe", point.pipe);
    object.emplace_back("waves", rounded(point.waves));
    object.emplace_back("imbalance", rounded(point.imbalance));
  }
  return object;
}

}  // namespace

Value gap_value(const GapReport& report, std::size_t worst) {
  ValueArray groups, points;
  for (const GapGroup& group : gap_groups(report)) {
    ValueObject object{{"gpu", group.gpu}};
    if (!group.family.empty()) {
      object.emplace_back("family", group.family);
      object.emplace_back("source", group.source);
    }
    object.emplace_back("points", group.points);
    object.emplace_back("underperforming", group.underperforming);
    object.emplace_back("share", rounded(group.share()));
    object.emplace_back("median_gap", rounded(group.median));
    object.emplace_back("p80_gap", rounded(group.p80));
    object.emplace_back("p90_gap", rounded(group.p90));
    groups.emplace_back(std::move(object));
  }
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
  for (const GapPoint& point : worst_points(report, worst)) points.push_back(point_value(point));
  return ValueObject{{"threshold", rounded(report.threshold)},
                     {"points", static_cast<std::int64_t>(report.points.size())},
                     {"without_ceiling", report.without_ceiling},
                     {"groups", std::move(groups)},
                     {"distribution", std::move(distribution)},
                     {"worst", std::move(points)}};
}

std::string gap_csv(const GapReport& report) {
  std::string text =
      "gpu,family,source,shape,row,measured_us,ceiling_us,efficiency,ceiling,gap,underperforming,"
      "bound_by,sm_pipe,waves,imbalance,transferred\n";
  for (const GapPoint& p : report.points) {
    const bool has_tasks = !p.pipe.empty();
    text += fmt::format("{},{},{},{},{},{:.3f},{:.3f},{:.4f},{:.4f},{:.4f},{:d},{},{},{},{},{:d}\n",
                        csv_cell(p.gpu), p.family, csv_cell(p.source), csv_cell(p.shape),
                        csv_cell(p.place), p.measured_us, p.ceiling_us, p.efficiency, p.ceiling,
                        p.gap(), p.gap() > report.threshold, p.bound_by, p.pipe,
                        has_tasks ? fmt::format("{:.3f}", p.waves) : "",
                        has_tasks ? fmt::format("{:.3f}", p.imbalance) : "", p.is_transferred);
  }
  return text;
}

}  // namespace foretoken

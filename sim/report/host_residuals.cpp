// What is missing of measured TPOTs, split into GPU and host time by least squares.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "sim/report/point_statistics.hpp"

namespace foretoken {

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
    const bool is_unclear = points.front()->is_unclear;
    if (is_unclear || points.size() < points_min || hh <= 0 || determinant <= 0) continue;
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

}  // namespace foretoken

#include "calibration/fit/wave_model.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

double median_grid(std::span<const GridTime> points) {
  std::vector<double> grids;
  for (const GridTime& point : points) grids.push_back(point.grid);
  const auto middle = grids.begin() + static_cast<std::ptrdiff_t>(grids.size() / 2);
  std::ranges::nth_element(grids, middle);
  return *middle;
}

}  // namespace

std::array<double, 5> wave_columns(const WaveForm& form, double grid, int sm_count) {
  const double waves = grid / sm_count;
  return {1, grid,
          form.terms < 3                        ? 0.0
          : form.waves == WaveCount::continuous ? waves
                                                : std::ceil(waves),
          form.terms < 4 ? 0.0 : std::log(grid + 1), form.terms < 5 ? 0.0 : grid * grid};
}

double WaveModel::time_us(double grid) const {
  const auto columns = wave_columns(form, grid, sm_count);
  double time = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) time += constants[i] * columns[i];
  return time;
}

WaveModel fit_wave_model(const WaveForm& form, int sm_count, std::span<const GridTime> points,
                         bool relative) {
  FORETOKEN_CHECK(!points.empty() && sm_count > 0 && form.terms >= 2 && form.terms <= 5,
                  "{} points, {} SMs, {} terms", points.size(), sm_count, form.terms);
  const auto rows = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd columns = Eigen::MatrixXd::Zero(rows, 5);
  Eigen::VectorXd times(rows);
  const bool has_log = !form.adaptive_log || median_grid(points) < sm_count;
  for (Eigen::Index row = 0; row < rows; ++row) {
    const GridTime& point = points[static_cast<std::size_t>(row)];
    FORETOKEN_CHECK(point.time_us > 0, "a time of {} us", point.time_us);
    auto values = wave_columns(form, point.grid, sm_count);
    if (!has_log) values[3] = 0;
    const double weight = relative ? 1 / point.time_us : 1;
    for (Eigen::Index i = 0; i < 5; ++i) {
      columns(row, i) = values[static_cast<std::size_t>(i)] * weight;
    }
    times[row] = point.time_us * weight;
  }
  const Eigen::VectorXd scale = columns.cwiseAbs().colwise().maxCoeff().transpose().unaryExpr(
      [](double largest) { return largest > 0 ? largest : 1.0; });
  const Eigen::MatrixXd scaled = columns * scale.cwiseInverse().asDiagonal();
  // ColPivHouseholderQR tells the rank; with the second factorisation of
  // CompleteOrthogonalDecomposition the answer is the shortest one, not that of the first pivots.
  const Eigen::VectorXd solved =
      scaled.completeOrthogonalDecomposition().solve(times).cwiseQuotient(scale);
  WaveModel model{form, sm_count, {}};
  for (std::size_t i = 0; i < 5; ++i) model.constants[i] = solved[static_cast<Eigen::Index>(i)];
  return model;
}

}  // namespace foretoken

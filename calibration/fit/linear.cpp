#include "calibration/fit/linear.hpp"

#include <Eigen/Dense>

namespace foretoken {

LinearModel fit_linear(const FamilyTable& table, const Rows& rows) {
  FORETOKEN_CHECK(table.kernels.size() == table.rows.size(), "the table holds no kernels");
  GpuSpecs specs;
  Eigen::Matrix3d normal = Eigen::Matrix3d::Zero();
  Eigen::Vector3d right = Eigen::Vector3d::Zero();
  for (const std::size_t row : rows) {
    const FamilyRow& data = table.rows[row];
    const GpuSpec& gpu = specs.find(table.gpus[static_cast<std::size_t>(data.gpu)]);
    try {
      const LinearTerms terms = linear_terms(table.kernels[row], gpu);
      // Microseconds over the measured time: all three columns are of one size.
      const double scale = 1.0 / data.measured;
      const Eigen::Vector3d x(1e-6 * scale, terms.math * scale, terms.memory * scale);
      normal += x * x.transpose();
      right += x;
    } catch (const PredictionError&) {
    }
  }
  const Eigen::Vector3d constants = normal.completeOrthogonalDecomposition().solve(right);
  return {constants[0] * 1e-6, constants[1], constants[2]};
}

}  // namespace foretoken

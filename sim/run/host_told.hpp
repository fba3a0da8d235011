// Which unknowns of a fit the errors tell, by how they change with each: least squares give any
// unknown a value, also one that nothing shows or that another explains as well. Slopes are in
// units of the noise an unknown's usual size, a column an unknown.
#pragma once

#include <Eigen/Cholesky>
#include <vector>

#include "sim/run/host_fit.hpp"

namespace foretoken {

struct Told {
  std::vector<Eigen::Index> fitted;
  std::vector<HostFate> fates;
  std::vector<Eigen::Index> like;
};

/// Whether a usual size of the unknown shows.
bool is_seen(const Eigen::MatrixXd& slopes, Eigen::Index i);

Eigen::MatrixXd columns_of(const Eigen::MatrixXd& slopes, const std::vector<Eigen::Index>& chosen);

/// The columns' products with each other.
Eigen::MatrixXd squares_of(const Eigen::MatrixXd& columns);

/// Standard deviations of the chosen ones where errors are noise of 1.
Eigen::VectorXd deviations_of(const Eigen::MatrixXd& slopes,
                              const std::vector<Eigen::Index>& chosen);

/// Of those that do the same, the first in `order`; then, one by one, without what is told worst.
/// What was fitted `before` stays so: it has moved.
Told told_by(const Eigen::MatrixXd& slopes, std::vector<Eigen::Index> order,
             const std::vector<Eigen::Index>& before);

}  // namespace foretoken

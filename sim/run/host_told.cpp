#include "sim/run/host_told.hpp"

#include <algorithm>

namespace foretoken {
namespace {

constexpr double told_to = 0.5;      // standard deviation, in usual sizes, of what is told at all
constexpr double alike_from = 0.97;  // cosine of two effects

/// How much two unknowns do the same, 0 to 1.
double likeness(const Eigen::MatrixXd& slopes, Eigen::Index a, Eigen::Index b) {
  return std::abs(slopes.col(a).normalized().dot(slopes.col(b).normalized()));
}

/// The chosen one whose effect is most like that of `i`; -1: none is chosen.
Eigen::Index most_like(const Eigen::MatrixXd& slopes, Eigen::Index i,
                       const std::vector<Eigen::Index>& chosen) {
  const auto found = std::ranges::max_element(
      chosen, {}, [&](Eigen::Index other) { return likeness(slopes, i, other); });
  return found == chosen.end() ? -1 : *found;
}

}  // namespace

bool is_seen(const Eigen::MatrixXd& slopes, Eigen::Index i) {
  return slopes.col(i).norm() * told_to >= 1;
}

Eigen::MatrixXd columns_of(const Eigen::MatrixXd& slopes, const std::vector<Eigen::Index>& chosen) {
  Eigen::MatrixXd columns(slopes.rows(), static_cast<Eigen::Index>(chosen.size()));
  for (std::size_t i = 0; i < chosen.size(); ++i)
    columns.col(static_cast<Eigen::Index>(i)) = slopes.col(chosen[i]);
  return columns;
}

Eigen::MatrixXd squares_of(const Eigen::MatrixXd& columns) {
  return columns.transpose().lazyProduct(columns);
}

Eigen::VectorXd deviations_of(const Eigen::MatrixXd& slopes,
                              const std::vector<Eigen::Index>& chosen) {
  const Eigen::LDLT<Eigen::MatrixXd> squares(squares_of(columns_of(slopes, chosen)));
  const auto count = static_cast<Eigen::Index>(chosen.size());
  Eigen::VectorXd deviations(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::VectorXd spread = squares.solve(Eigen::VectorXd::Unit(count, i));
    deviations[i] = std::sqrt(std::max(0.0, spread[i]));
  }
  return deviations;
}

Told told_by(const Eigen::MatrixXd& slopes, std::vector<Eigen::Index> order,
             const std::vector<Eigen::Index>& before) {
  const auto count = static_cast<std::size_t>(slopes.cols());
  Told told{{}, std::vector(count, HostFate::unseen), std::vector<Eigen::Index>(count, -1)};
  const auto has_moved = [&](Eigen::Index i) {
    return std::ranges::find(before, i) != before.end();
  };
  const auto leave_out = [&](Eigen::Index i) {
    told.fates[static_cast<std::size_t>(i)] = HostFate::alike;
    told.like[static_cast<std::size_t>(i)] = most_like(slopes, i, told.fitted);
  };
  std::ranges::stable_partition(order, has_moved);
  for (const Eigen::Index i : order) {
    if (!has_moved(i) && !is_seen(slopes, i)) continue;
    const Eigen::Index like = most_like(slopes, i, told.fitted);
    if (!has_moved(i) && like >= 0 && likeness(slopes, i, like) >= alike_from) {
      leave_out(i);
    } else {
      told.fitted.push_back(i);
    }
  }
  while (true) {
    Eigen::VectorXd each = deviations_of(slopes, told.fitted);
    for (Eigen::Index i = 0; i < each.size(); ++i)
      if (has_moved(told.fitted[static_cast<std::size_t>(i)])) each[i] = 0;
    Eigen::Index worst = 0;
    if (each.size() == 0 || each.maxCoeff(&worst) <= told_to) break;
    const Eigen::Index unknown = told.fitted[static_cast<std::size_t>(worst)];
    told.fitted.erase(told.fitted.begin() + worst);
    leave_out(unknown);
  }
  for (const Eigen::Index i : told.fitted)
    told.fates[static_cast<std::size_t>(i)] = HostFate::fitted;
  return told;
}

}  // namespace foretoken

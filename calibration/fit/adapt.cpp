#include "calibration/fit/adapt.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// What is tried: squared lengths a feature, and ridges. Features have unit variance in training, so
// two random launches are some sqrt(2 x features) apart.
constexpr auto lengths = std::to_array({0.25, 0.5, 1.0, 2.0, 4.0, 8.0});
constexpr auto ridges = std::to_array({0.03, 0.1, 0.3, 1.0, 3.0, 10.0});

/// Predicted time's logarithm without adaptation, and the scaled features.
struct Launches {
  Eigen::VectorXd residuals;  // log(measured / predicted), warm parts
  Eigen::MatrixXd squared_distances;
  std::vector<float> points;
};

Launches launches_of(const FamilyTable& table, const Rows& rows, const Artifact& artifact) {
  const auto count = static_cast<Eigen::Index>(rows.size());
  const auto features = static_cast<Eigen::Index>(table.features);
  Launches launches{Eigen::VectorXd(count), {}, std::vector<float>(rows.size() * table.features)};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto input = table.input(rows[i]);
    artifact.ensemble.scale(input,
                            std::span(launches.points).subspan(i * table.features, table.features));
    launches.residuals[static_cast<Eigen::Index>(i)] =
        table.rows[rows[i]].log_ratio - artifact.ensemble.run(input).mean;
  }
  const Eigen::Map<const Eigen::MatrixXf> points(launches.points.data(), features, count);
  launches.squared_distances.resize(count, count);
  for (Eigen::Index i = 0; i < count; ++i) {
    launches.squared_distances.col(i) =
        (points.colwise() - points.col(i)).colwise().squaredNorm().cast<double>();
  }
  return launches;
}

double median_of(const Eigen::VectorXd& values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double mean_error(const Eigen::VectorXd& log_errors) {
  return (log_errors.array().exp() - 1).abs().mean();
}

}  // namespace

FamilyAdaptation fit_adaptation(const FamilyTable& table, const Rows& rows,
                                const Artifact& artifact) {
  FORETOKEN_CHECK(rows.size() >= 2, "{} launches are too few to adapt to", rows.size());
  const Launches launches = launches_of(table, rows, artifact);
  FamilyAdaptation adaptation;
  adaptation.family = artifact.family;
  adaptation.version = artifact.version;
  adaptation.features = table.features;
  adaptation.points = launches.points;
  adaptation.offset = median_of(launches.residuals);
  adaptation.weights.assign(rows.size(), 0.0);
  const Eigen::VectorXd around = launches.residuals.array() - adaptation.offset;
  adaptation.error = mean_error(around);
  for (const double length : lengths) {
    const double squared = length * static_cast<double>(table.features);
    const Eigen::MatrixXd kernel = (-launches.squared_distances / (2 * squared)).array().exp();
    for (const double ridge : ridges) {
      Eigen::MatrixXd regular = kernel;
      regular.diagonal().array() += ridge;
      const Eigen::MatrixXd inverse = regular.inverse();
      const Eigen::VectorXd weights = inverse * around;
      // The error at each launch of a fit without it, in closed form.
      const double error = mean_error(weights.array() / inverse.diagonal().array());
      if (error >= adaptation.error) continue;
      adaptation.error = error;
      adaptation.length = std::sqrt(squared);
      adaptation.weights.assign(weights.begin(), weights.end());
    }
  }
  return adaptation;
}

double adapted_time(const FamilyTable& table, std::size_t row, const Artifact& artifact,
                    const FamilyAdaptation& adaptation) {
  const FamilyRow& data = table.rows[row];
  std::vector<float> scaled(table.features);
  artifact.ensemble.scale(table.input(row), scaled);
  const double mean = artifact.ensemble.run(table.input(row)).mean + adaptation.correction(scaled);
  return data.first_order * std::exp(mean) + data.cold_extra;
}

}  // namespace foretoken

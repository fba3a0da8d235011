#include "calibration/fit/adapt.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

namespace foretoken {
namespace {

/// What varies over states, and what varies over inputs.
constexpr std::size_t views = 2;
/// What is chosen by how probable it makes the launches, as logarithms: standard deviations of the
/// offset, of the noise and of what varies over each view, and the lengths over which it varies, in
/// units of the launches' root mean square distance.
constexpr std::size_t offset = 0, noise = 1, amplitude = 2, length = amplitude + views;
using Scales = std::array<double, length + views>;

/// Before any launch: 10 % of offset and of all that varies, 5 % of noise (layouts held out come
/// out at 3 to 10 %), all within a factor e; half the launches' distance, within a factor of 1.6.
/// Guesses from GPUs left out in turn; 50 launches overrule them.
const Scales expected = {std::log(0.1),  std::log(0.05),  // offset, noise
                         std::log(0.07), std::log(0.07), std::log(0.6), std::log(0.6)};
constexpr Scales deviations = {1, 1, 1, 1, 0.5, 0.5};

/// Degrees of freedom of the noise: heavy tails, since tile choices differ in kind. On the tables
/// normal noise does as well on average; a launch that was disturbed would mislead it.
constexpr double freedom = 4;
constexpr int reweighings = 3;
/// Below this nobody measures: variance of the logarithm, 0.1 % squared. Keeps matrices regular.
constexpr double variance_min = 1e-6;

double mean_error(const Eigen::VectorXd& log_errors) {
  return (log_errors.array().exp() - 1).abs().mean();
}

/// The launches as a Gaussian process sees them.
class LaunchProcess {
 public:
  /// Squared, in units of their mean, by view.
  using Distances = std::array<Eigen::MatrixXd, views>;

  LaunchProcess(Eigen::VectorXd residuals, Distances distances)
      : residuals_(std::move(residuals)),
        distances_(std::move(distances)),
        noise_weights_(Eigen::VectorXd::Ones(residuals_.size())) {}

  /// Weighs outliers down and climbs to the most probable scales, in turn. Outliers first: climbing
  /// would take them for noise that all launches have.
  void fit() {
    for (int i = 0; i < reweighings; ++i) {
      weigh_outliers();
      climb();
    }
  }

  [[nodiscard]] const Scales& scales() const { return scales_; }
  /// What each launch adds to a posterior mean.
  [[nodiscard]] Eigen::VectorXd coefficients() const {
    return covariance(scales_).llt().solve(residuals_);
  }
  /// log(measured / predicted) of each launch, predicted from the others: in closed form.
  [[nodiscard]] Eigen::VectorXd left_out_residuals() const {
    const Eigen::MatrixXd inverse = covariance(scales_).inverse();
    return (inverse * residuals_).array() / inverse.diagonal().array();
  }

 private:
  [[nodiscard]] Eigen::MatrixXd covariance(const Scales& scales) const {
    const auto size = residuals_.size();
    Eigen::MatrixXd sum = Eigen::MatrixXd::Constant(size, size, std::exp(2 * scales[offset]));
    for (std::size_t view = 0; view < views; ++view) {
      const double squared_length = std::exp(2 * scales[length + view]);
      sum.array() += std::exp(2 * scales[amplitude + view]) *
                     (-distances_[view] / (2 * squared_length)).array().exp();
    }
    sum.diagonal().array() += std::exp(2 * scales[noise]) * noise_weights_.array() + variance_min;
    return sum;
  }

  /// Minus the logarithm of the launches' and the scales' probability, up to a constant.
  [[nodiscard]] double improbability(const Scales& scales) const {
    const Eigen::LLT<Eigen::MatrixXd> factor(covariance(scales));
    double sum = residuals_.dot(factor.solve(residuals_)) / 2 +
                 factor.matrixLLT().diagonal().array().log().sum();
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const double away = (scales[i] - expected[i]) / deviations[i];
      sum += away * away / 2;
    }
    return sum;
  }

  /// Pattern search: one scale at a time, in halving steps.
  void climb() {
    double best = improbability(scales_);
    for (double step = 1; step >= 0.125;) {
      bool has_moved = false;
      for (std::size_t i = 0; i < scales_.size(); ++i) {
        for (const double move : {step, -step}) {
          Scales tried = scales_;
          tried[i] += move;
          const double value = improbability(tried);
          if (!(value < best - 1e-9)) continue;
          best = value;
          scales_ = tried;
          has_moved = true;
        }
      }
      if (!has_moved) step /= 2;
    }
  }

  /// Expectation step of Student's t as a scale mixture of normals.
  void weigh_outliers() {
    const double variance = std::exp(2 * scales_[noise]);
    const Eigen::MatrixXd inverse = covariance(scales_).inverse();
    const Eigen::ArrayXd own = variance * noise_weights_.array();
    const Eigen::ArrayXd error = own * (inverse * residuals_).array();
    const Eigen::ArrayXd uncertainty = own - own.square() * inverse.diagonal().array();
    noise_weights_ = (freedom + (error.square() + uncertainty) / variance) / (freedom + 1);
  }

  Eigen::VectorXd residuals_;
  Distances distances_;
  Eigen::VectorXd noise_weights_;
  Scales scales_ = expected;
};

Eigen::MatrixXd squared_distances(const Nearness& near) {
  const Eigen::Map<const Eigen::MatrixXf> points(near.points.data(),
                                                 static_cast<Eigen::Index>(near.width),
                                                 static_cast<Eigen::Index>(near.weights.size()));
  Eigen::MatrixXd squared(points.cols(), points.cols());
  for (Eigen::Index i = 0; i < points.cols(); ++i) {
    squared.col(i) = (points.colwise() - points.col(i)).colwise().squaredNorm().cast<double>();
  }
  return squared;
}

/// log(time / T) without adaptation, as synperf takes it over; what the networks see and make of it
/// to `input` and `state`.
double log_ratio_before(const FamilyTable& table, std::size_t row, const Artifact& artifact,
                        std::span<float> state, std::span<float> input) {
  const GpuSpec& gpu = table.specs[static_cast<std::size_t>(table.rows[row].gpu)];
  artifact.ensemble.scale(table.input(row), input);
  return artifact.network_share(gpu) * artifact.ensemble.run(table.input(row), state).mean;
}

/// Room for launches that correct nothing.
Nearness nearness_of(std::size_t launches, std::size_t width) {
  return {1, width, std::vector<float>(launches * width), std::vector<double>(launches)};
}

/// What the fit says where it says nothing: all launches count, none corrects.
FamilyAdaptation without_correction(const FamilyTable& table, const Rows& rows,
                                    const Artifact& artifact, Eigen::VectorXd& residuals) {
  FamilyAdaptation adaptation;
  adaptation.family = artifact.family;
  adaptation.version = artifact.version;
  adaptation.networks = artifact.ensemble.fingerprint();
  adaptation.states = nearness_of(rows.size(), artifact.ensemble.state_width());
  adaptation.inputs = nearness_of(rows.size(), artifact.ensemble.features().size());
  const auto point_of = [](Nearness& near, std::size_t launch) {
    return std::span(near.points).subspan(launch * near.width, near.width);
  };
  residuals.resize(static_cast<Eigen::Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto state = point_of(adaptation.states, i), input = point_of(adaptation.inputs, i);
    residuals[static_cast<Eigen::Index>(i)] =
        table.rows[rows[i]].log_ratio - log_ratio_before(table, rows[i], artifact, state, input);
  }
  adaptation.error_before = mean_error(-residuals);
  adaptation.error = adaptation.error_before;
  return adaptation;
}

}  // namespace

FamilyAdaptation fit_adaptation(const FamilyTable& table, const Rows& rows,
                                const Artifact& artifact) {
  FORETOKEN_CHECK(rows.size() >= 2, "{} launches are too few to adapt to", rows.size());
  Eigen::VectorXd residuals;
  FamilyAdaptation adaptation = without_correction(table, rows, artifact, residuals);
  const std::array<Nearness*, views> near = {&adaptation.states, &adaptation.inputs};
  LaunchProcess::Distances distances;
  std::array<double, views> units{};
  for (std::size_t view = 0; view < views; ++view) {
    distances[view] = squared_distances(*near[view]);
    units[view] = std::max(distances[view].mean(), 1e-12);  // launches may all be the same
    distances[view] /= units[view];
  }
  LaunchProcess process(residuals, std::move(distances));
  process.fit();
  const double error = mean_error(-process.left_out_residuals());
  if (error >= adaptation.error_before) return adaptation;
  const Scales& scales = process.scales();
  const Eigen::VectorXd coefficients = process.coefficients();
  adaptation.error = error;
  adaptation.offset = std::exp(2 * scales[offset]) * coefficients.sum();
  for (std::size_t view = 0; view < views; ++view) {
    const Eigen::VectorXd weights = std::exp(2 * scales[amplitude + view]) * coefficients;
    near[view]->weights.assign(weights.begin(), weights.end());
    near[view]->length = std::exp(scales[length + view]) * std::sqrt(units[view]);
  }
  return adaptation;
}

double adapted_time(const FamilyTable& table, std::size_t row, const Artifact& artifact,
                    const FamilyAdaptation& adaptation) {
  const FamilyRow& data = table.rows[row];
  std::vector<float> state(adaptation.states.width), input(adaptation.inputs.width);
  const double mean = log_ratio_before(table, row, artifact, state, input);
  return data.first_order * std::exp(mean + adaptation.correction(state, input)) + data.cold_extra;
}

}  // namespace foretoken

#include "sim/run/host_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/run/host_told.hpp"

namespace foretoken {
namespace {

struct Unknown {
  std::string_view key;
  Seconds HostSettings::*member;
  Seconds usual;  // size; what is tried is a part of it
};

// Of two that explain the same, the first is fitted, and one that the preset sets before others.
const std::vector<Unknown>& unknowns() {
  using S = HostSettings;
  static const std::vector<Unknown> all = {
      {"host_step", &S::step, Seconds(400e-6)},
      {"host_sequence", &S::sequence, Seconds(20e-6)},
      {"host_layer", &S::layer, Seconds(200e-6)},
      {"host_launch", &S::launch, Seconds(5e-6)},
      {"host_request", &S::request, Seconds(500e-6)},
      {"host_graph_launch", &S::graph_launch, Seconds(50e-6)},
      {"host_time", &S::gap, Seconds(200e-6)},
      {"front_end_request", &S::front_end_request, Seconds(2e-3)},
      {"front_end_token", &S::front_end_token, Seconds(2e-6)},
      {"front_end_output", &S::front_end_output, Seconds(5e-3)},
  };
  return all;
}

constexpr double noise = 0.03;  // relative, of a group's mean latency: requests are few
constexpr int rounds_max = 12;
constexpr double reach_min = 0.2;  // of the steps by which slopes are taken, of the first ones
constexpr double dampings[] = {0, 0.01, 0.1, 1, 10};
constexpr double worth_a_round = 0.005;  // of the squares

/// Unknowns in units of their usual size, the last one what prices are multiplied by, less 1, in
/// units of what they are off.
class HostProblem {
 public:
  HostProblem(const std::vector<HostSight>& recorded, const HostSettings& start, double gpu_error,
              const HostTrials& simulate)
      : recorded_(recorded),
        start_(start),
        // Mean absolute error to standard deviation, of a normal distribution.
        gpu_deviation_(std::max(gpu_error, 0.005) * std::sqrt(std::numbers::pi / 2)),
        simulate_(simulate) {}

  [[nodiscard]] Eigen::Index gpu() const { return static_cast<Eigen::Index>(unknowns().size()); }
  [[nodiscard]] double gpu_deviation() const { return gpu_deviation_; }

  [[nodiscard]] Eigen::VectorXd start() const {
    Eigen::VectorXd x = Eigen::VectorXd::Zero(gpu() + 1);
    for (Eigen::Index i = 0; i < gpu(); ++i) {
      const Unknown& unknown = unknowns()[static_cast<std::size_t>(i)];
      x[i] = start_.*unknown.member / unknown.usual;
    }
    return x;
  }

  [[nodiscard]] HostTrial trial(const Eigen::VectorXd& x) const {
    HostTrial trial{start_, 1 + gpu_deviation_ * x[gpu()]};
    for (Eigen::Index i = 0; i < gpu(); ++i) {
      const Unknown& unknown = unknowns()[static_cast<std::size_t>(i)];
      trial.host.*unknown.member = unknown.usual * x[i];
    }
    return trial;
  }

  /// Errors of every trial in units of the noise, and last what it makes of prices: that counts as
  /// much as all the others, whose errors are not independent of each other.
  [[nodiscard]] std::vector<Eigen::VectorXd> errors(const std::vector<Eigen::VectorXd>& xs) const {
    std::vector<HostTrial> trials;
    for (const Eigen::VectorXd& x : xs) trials.push_back(trial(x));
    const std::vector<std::vector<double>> seen = simulate_(trials);
    std::vector<Eigen::VectorXd> errors;
    for (std::size_t t = 0; t < xs.size(); ++t) {
      Eigen::VectorXd& error = errors.emplace_back(static_cast<Eigen::Index>(recorded_.size()) + 1);
      for (std::size_t i = 0; i < recorded_.size(); ++i) {
        error[static_cast<Eigen::Index>(i)] =
            (seen[t].at(i) - recorded_[i].seconds) / recorded_[i].scale / noise;
      }
      error[error.size() - 1] = xs[t][gpu()] * std::sqrt(double(recorded_.size()));
    }
    return errors;
  }

 private:
  const std::vector<HostSight>& recorded_;
  const HostSettings& start_;
  double gpu_deviation_;
  const HostTrials& simulate_;
};

/// Prices first, then what was set before, then what was not.
std::vector<Eigen::Index> order_of(const Eigen::VectorXd& start) {
  std::vector<Eigen::Index> order = {start.size() - 1};
  for (const bool was_set : {true, false}) {
    for (Eigen::Index i = 0; i + 1 < start.size(); ++i)
      if ((start[i] > 0) == was_set) order.push_back(i);
  }
  return order;
}

/// Least squares, with no time below 0: what would be is set to 0, and the rest solved again.
/// `damping`: how much dearer it is to move an unknown (Levenberg and Marquardt).
Eigen::VectorXd best_change(const Eigen::MatrixXd& slopes, const Eigen::VectorXd& errors,
                            const Eigen::VectorXd& x, std::vector<Eigen::Index> free,
                            double damping) {
  Eigen::VectorXd change = Eigen::VectorXd::Zero(x.size());
  Eigen::VectorXd left = errors;
  for (bool again = true; again && !free.empty();) {
    again = false;
    const Eigen::MatrixXd columns = columns_of(slopes, free);
    Eigen::MatrixXd squares = squares_of(columns);
    squares.diagonal() *= 1 + damping;
    const Eigen::VectorXd part = squares.ldlt().solve(-columns.transpose() * left);
    for (std::size_t i = 0; i < free.size(); ++i) {
      const Eigen::Index at = free[i];
      if (at + 1 == x.size() || x[at] + part[static_cast<Eigen::Index>(i)] >= 0) continue;
      change[at] = -x[at];
      left += change[at] * slopes.col(at);
      free.erase(free.begin() + static_cast<std::ptrdiff_t>(i));
      again = true;
      break;
    }
    if (again) continue;
    for (std::size_t i = 0; i < free.size(); ++i)
      change[free[i]] = part[static_cast<Eigen::Index>(i)];
  }
  return change;
}

/// How errors change with each unknown, by trying a part of its usual size less and more: a large
/// one, since who shares a step with whom changes by leaps.
Eigen::MatrixXd slopes_at(const HostProblem& problem, const Eigen::VectorXd& x, double reach,
                          Eigen::VectorXd& errors) {
  const auto above = [&](Eigen::Index i) { return reach * std::max(0.5, 0.2 * x[i]); };
  const auto below = [&](Eigen::Index i) {
    return i == problem.gpu() ? above(i) : std::min(above(i), x[i]);
  };
  std::vector<Eigen::VectorXd> tries = {x};
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    for (const double change : {-below(i), above(i)}) {
      tries.push_back(x);
      tries.back()[i] += change;
    }
  }
  const std::vector<Eigen::VectorXd> found = problem.errors(tries);
  errors = found[0];
  Eigen::MatrixXd slopes(errors.size(), x.size());
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    slopes.col(i) = (found[at + 2] - found[at + 1]) / (below(i) + above(i));
  }
  return slopes;
}

double root_mean_square(const Eigen::VectorXd& errors) {
  const Eigen::Index count = errors.size() - 1;
  return noise * errors.head(count).norm() / std::sqrt(double(count));
}

/// Standard deviations of what was fitted, by index, from how far errors scatter in the end; 0 of
/// what no longer shows.
Eigen::VectorXd deviations(const Eigen::MatrixXd& slopes, const Eigen::VectorXd& errors,
                           std::vector<Eigen::Index> fitted) {
  Eigen::VectorXd found = Eigen::VectorXd::Zero(slopes.cols());
  std::erase_if(fitted, [&](Eigen::Index i) { return !is_seen(slopes, i); });
  const Eigen::VectorXd each = deviations_of(slopes, fitted);
  const auto spare = std::max<double>(1, double(slopes.rows() - each.size()));
  const double scatter = std::sqrt(errors.squaredNorm() / spare);
  for (std::size_t i = 0; i < fitted.size(); ++i)
    found[fitted[i]] = scatter * each[static_cast<Eigen::Index>(i)];
  return found;
}

std::string name_of(Eigen::Index i) {
  const auto at = static_cast<std::size_t>(i);
  return at < unknowns().size() ? std::string(unknowns()[at].key) : "GPU times";
}

HostFit fit_of(const HostProblem& problem, const Eigen::VectorXd& before, const Eigen::VectorXd& x,
               const Told& told, const Eigen::VectorXd& deviation) {
  const HostTrial best = problem.trial(x);
  HostFit fit{.host = best.host, .gpu = best.gpu};
  fit.gpu_deviation = problem.gpu_deviation() * deviation[problem.gpu()];
  for (Eigen::Index i = 0; i < problem.gpu(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Unknown& unknown = unknowns()[at];
    fit.constants.push_back({.key = std::string(unknown.key),
                             .before = unknown.usual * before[i],
                             .after = unknown.usual * x[i],
                             .deviation = unknown.usual * deviation[i],
                             .fate = told.fates[at],
                             .like = told.like[at] < 0 ? "" : name_of(told.like[at])});
  }
  return fit;
}

}  // namespace

HostFit fit_host(const std::vector<HostSight>& recorded, const HostSettings& start,
                 double gpu_error, const HostTrials& simulate) {
  const HostProblem problem(recorded, start, gpu_error, simulate);
  const Eigen::VectorXd before = problem.start();
  Eigen::VectorXd x = before, errors;
  double reach = 1;
  Eigen::MatrixXd slopes = slopes_at(problem, x, reach, errors);
  const double error_before = root_mean_square(errors);
  const std::vector<Eigen::Index> order = order_of(before);
  Told told = told_by(slopes, order, {});
  for (int round = 0; round < rounds_max; ++round) {
    std::vector<Eigen::VectorXd> tries;
    for (const double damping : dampings)
      tries.push_back(x + best_change(slopes, errors, x, told.fitted, damping));
    const std::vector<Eigen::VectorXd> found = problem.errors(tries);
    const auto best = std::ranges::min_element(
        found, {}, [](const Eigen::VectorXd& error) { return error.squaredNorm(); });
    const double squares = best->squaredNorm(), squares_before = errors.squaredNorm();
    if (squares < squares_before) x = tries[static_cast<std::size_t>(best - found.begin())];
    const bool is_worth_it = squares < (1 - worth_a_round) * squares_before;
    const bool is_last = !is_worth_it && (reach /= 2) < reach_min;
    slopes = slopes_at(problem, x, reach, errors);
    if (is_last) break;
    told = told_by(slopes, order, told.fitted);
  }
  HostFit fit = fit_of(problem, before, x, told, deviations(slopes, errors, told.fitted));
  fit.error_before = error_before;
  fit.error_after = root_mean_square(errors);
  return fit;
}

}  // namespace foretoken

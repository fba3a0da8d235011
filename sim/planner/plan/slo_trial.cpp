#include "sim/planner/plan/slo_trial.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/quantiles.hpp"

namespace foretoken {
namespace {

constexpr double one_sided = 0.95;

}  // namespace

double t_quantile(double probability, int count) {
  FORETOKEN_CHECK(count >= 2, "a t quantile of {} values", count);
  return students_t_quantile(probability, count - 1);
}

MeanAndError mean_and_error(const std::vector<double>& values) {
  FORETOKEN_CHECK(!values.empty(), "the mean of nothing");
  const auto count = static_cast<double>(values.size());
  MeanAndError result;
  for (const double value : values) result.mean += value / count;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.error = std::sqrt(squares / (count - 1) / count);
  return result;
}

double SloTrial::lower_end() const {
  const auto [mean, error] = mean_and_error(attainments_);
  return error == 0 ? mean : mean - t_quantile(one_sided, count()) * error;
}

std::optional<bool> SloTrial::verdict() const {
  if (attainments_.empty()) return std::nullopt;
  if (attainments_.front() < target_) return false;
  if (count() < std::min(replications_.least, replications_.most)) return std::nullopt;
  const double low = lower_end(), mean = mean_and_error(attainments_).mean;
  if (low >= target_) return true;
  const bool is_open = 2 * mean - low >= target_ && count() < replications_.most;
  return is_open ? std::nullopt : std::optional(false);
}

int SloTrial::wanted() const {
  if (verdict()) return 0;
  if (attainments_.empty()) return 1;
  return std::max(1, std::min(replications_.least, replications_.most) - count());
}

}  // namespace foretoken

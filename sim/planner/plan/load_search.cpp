#include "sim/planner/plan/load_search.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

constexpr double first_step = 1.25;  // a neighbour's answer is rarely further off
constexpr double widest_step = 4;

}  // namespace

LoadSearch::LoadSearch(double guess, const Limits& limits)
    : limits_(limits),
      guess_(std::clamp(guess, limits.least, std::min(limits.most, limits.ceiling))),
      step_(first_step) {
  FORETOKEN_CHECK(guess > 0 && limits.tolerance > 0, "a search from {} to within {}", guess,
                  limits.tolerance);
  if (limits.ceiling < limits.most) fails_ = limits.ceiling;
}

std::optional<double> LoadSearch::next() const {
  if (!holds_) {
    if (!fails_ || guess_ < *fails_) return guess_;
    if (*fails_ <= limits_.least) return std::nullopt;
    return std::max(limits_.least, *fails_ / step_);
  }
  if (!fails_) {
    if (*holds_ >= limits_.most) return std::nullopt;
    return std::min(limits_.most, *holds_ * step_);
  }
  if (*fails_ <= *holds_ * (1 + limits_.tolerance)) return std::nullopt;
  // Far below a mere ceiling, steps lead there sooner than halving.
  return std::min(std::sqrt(*holds_ * *fails_), *holds_ * step_);
}

void LoadSearch::take(double load, bool holds) {
  const bool steps_on = holds ? holds_.has_value() : fails_.has_value();
  if (steps_on) step_ = std::min(step_ * step_, widest_step);
  (holds ? holds_ : fails_) = load;
}

}  // namespace foretoken

#include "kernels/tiles/wave_residual.hpp"

#include <cmath>

namespace foretoken {

StepTraits step_traits(const RoutedStep& step) {
  StepTraits traits{std::log(step.assignments()), std::log(step.active())};
  for (std::size_t i = 0; i < trait_heights.size(); ++i) {
    traits[i + 2] = std::log(step.at(i).tiles);
  }
  return traits;
}

double likeness(const StepTraits& a, const StepTraits& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::exp(-std::sqrt(squares / static_cast<double>(a.size())) / likeness_length);
}

}  // namespace foretoken

#include "kernels/networks/head.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/error.hpp"

namespace foretoken {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// log(1 + exp(x)) without overflow.
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

}  // namespace

double log_ratio(Head head, const Ensemble& ensemble, std::span<const float> features) {
  if (head == Head::log_ratio) return ensemble.run(features).mean;
  std::array<float, network_width_max> buffer;
  const std::span<float> inputs(buffer.data(), features.size());
  ensemble.scale(features, inputs);
  const auto& networks = ensemble.networks();
  const auto outputs = static_cast<std::size_t>(outputs_of(head));
  FORETOKEN_CHECK(networks.size() % outputs == 0, "{} networks of {} outputs a member",
                  networks.size(), outputs);
  double sum = 0;
  for (std::size_t i = 0; i < networks.size(); i += outputs) {
    const double answer = networks[i].run(inputs);
    if (head == Head::efficiency) {
      sum += softplus(-answer);
    } else {
      const double waves = std::exp2(static_cast<double>(features.back()));
      const double a = networks[i + 1].run(inputs);
      sum -= std::log(std::max(sigmoid(answer) - sigmoid(a) / waves, utilisation_min));
    }
  }
  return sum / static_cast<double>(networks.size() / outputs);
}

}  // namespace foretoken

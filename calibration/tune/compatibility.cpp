#include "calibration/tune/compatibility.hpp"

#include <algorithm>
#include <cmath>

namespace foretoken::tune {
namespace {

double logit(const Profile& weights, double bias, const Profile& x) {
  double sum = bias;
  for (std::size_t i = 0; i < x.size(); ++i) sum += weights[i] * x[i];
  return sum;
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

}  // namespace

void ProfileScale::add(const Profile& profile) {
  for (std::size_t i = 0; i < profile.size(); ++i) {
    least_[i] = empty_ ? profile[i] : std::min(least_[i], profile[i]);
    most_[i] = empty_ ? profile[i] : std::max(most_[i], profile[i]);
  }
  empty_ = false;
}

Profile ProfileScale::scaled(const Profile& profile) const {
  Profile result;
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const double range = most_[i] - least_[i];
    result[i] = range > 0 ? std::clamp((profile[i] - least_[i]) / range, 0.0, 1.0) : 0.5;
  }
  return result;
}

void Compatibility::step(Head& head, const Profile& scaled, bool improved) const {
  const double error = (improved ? 1.0 : 0.0) - sigmoid(logit(head.weights, head.bias, scaled));
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    head.weights[i] +=
        config_.learning_rate * (error * scaled[i] - config_.penalty * head.weights[i]);
  }
  head.bias += config_.learning_rate * error;
}

void Compatibility::pretrain(std::span<const PriorSample> samples, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const PriorSample& sample : samples) {
      step(heads_[static_cast<std::size_t>(sample.strategy)], sample.profile, sample.improved);
    }
  }
  for (std::size_t s = 0; s < heads_.size(); ++s) {
    double sum = 0;
    int count = 0;
    for (const PriorSample& sample : samples) {
      if (static_cast<std::size_t>(sample.strategy) != s) continue;
      sum += logit(heads_[s].weights, 0, sample.profile);
      ++count;
    }
    if (count > 0) heads_[s].bias = -sum / count;
  }
}

double Compatibility::probability(const Profile& scaled, Strategy strategy) const {
  const Head& head = heads_[static_cast<std::size_t>(strategy)];
  return sigmoid(logit(head.weights, head.bias, scaled));
}

void Compatibility::add(const Profile& scaled, Strategy strategy, bool improved) {
  Head& head = heads_[static_cast<std::size_t>(strategy)];
  head.buffer.emplace_back(scaled, improved);
  if (static_cast<int>(head.buffer.size()) < config_.buffer) return;
  for (const auto& [profile, label] : head.buffer) step(head, profile, label);
  head.buffer.clear();
}

}  // namespace foretoken::tune

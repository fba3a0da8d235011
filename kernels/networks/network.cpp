#include "kernels/networks/network.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

using Buffer = std::array<float, network_width_max>;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXf>;
using ConstVector = Eigen::Map<const Eigen::VectorXf>;
using MutableVector = Eigen::Map<Eigen::VectorXf>;

/// Values further out than this share of the trained range do not count as clamped: rounding.
constexpr float edge_tolerance = 1e-4F;

}  // namespace

Network::Network(std::vector<NetworkLayer> layers) : layers_(std::move(layers)) {
  FORETOKEN_CHECK(!layers_.empty(), "a network needs a layer");
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const NetworkLayer& layer = layers_[i];
    const auto outputs = static_cast<std::size_t>(layer.outputs);
    FORETOKEN_CHECK(layer.inputs > 0 && layer.inputs <= network_width_max && layer.outputs > 0 &&
                        layer.outputs <= network_width_max,
                    "layer {} is {} x {}", i, layer.outputs, layer.inputs);
    FORETOKEN_CHECK(layer.weights.size() == outputs * static_cast<std::size_t>(layer.inputs) &&
                        layer.bias.size() == outputs,
                    "layer {} has {} weights and {} biases", i, layer.weights.size(),
                    layer.bias.size());
    FORETOKEN_CHECK(i == 0 || layer.inputs == layers_[i - 1].outputs,
                    "layer {} takes {} inputs, the one before gives {}", i, layer.inputs,
                    layers_[i - 1].outputs);
  }
  FORETOKEN_CHECK(layers_.back().outputs == 1, "the last layer has {} outputs",
                  layers_.back().outputs);
}

float Network::run(std::span<const float> inputs, std::span<float> state) const {
  FORETOKEN_CHECK(inputs.size() == static_cast<std::size_t>(layers_.front().inputs),
                  "{} inputs instead of {}", inputs.size(), layers_.front().inputs);
  std::array<Buffer, 2> buffers;
  const float* current = inputs.data();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const NetworkLayer& layer = layers_[i];
    if (i + 1 == layers_.size() && !state.empty()) {
      std::ranges::copy(std::span(current, static_cast<std::size_t>(layer.inputs)), state.begin());
    }
    MutableVector out(buffers[i % 2].data(), layer.outputs);
    out = ConstVector(layer.bias.data(), layer.outputs);
    out.noalias() += ConstMatrix(layer.weights.data(), layer.outputs, layer.inputs) *
                     ConstVector(current, layer.inputs);
    if (i + 1 < layers_.size()) out = out.cwiseMax(0.0F);
    current = out.data();
  }
  return current[0];
}

Ensemble::Ensemble(std::vector<FeatureScale> features, std::vector<Network> networks)
    : features_(std::move(features)), networks_(std::move(networks)) {
  FORETOKEN_CHECK(!networks_.empty() && networks_.size() <= networks_max,
                  "an ensemble needs from 1 to {} networks, not {}", networks_max,
                  networks_.size());
  for (const Network& network : networks_) {
    FORETOKEN_CHECK(static_cast<std::size_t>(network.inputs()) == features_.size(),
                    "a network takes {} inputs, there are {} features", network.inputs(),
                    features_.size());
  }
}

int Ensemble::scale(std::span<const float> features, std::span<float> scaled) const {
  FORETOKEN_CHECK(features.size() == features_.size() && scaled.size() == features_.size(),
                  "{} features instead of {}", features.size(), features_.size());
  int clamped = 0;
  for (std::size_t i = 0; i < features.size(); ++i) {
    const FeatureScale& scale = features_[i];
    const float inside = std::clamp(features[i], scale.low, scale.high);
    const float outside = std::abs(features[i] - inside);
    clamped += outside > edge_tolerance * (scale.high - scale.low + scale.deviation) ? 1 : 0;
    scaled[i] = (inside - scale.mean) / scale.deviation;
  }
  return clamped;
}

std::size_t Ensemble::state_width() const {
  std::size_t width = 0;
  for (const Network& network : networks_) width += static_cast<std::size_t>(network.state_width());
  return width;
}

std::uint64_t Ensemble::fingerprint() const {
  Fingerprint hash;
  const auto add = [&hash](float value) { hash.add(static_cast<double>(value)); };
  for (const FeatureScale& scale : features_) {
    hash.add(std::string_view(scale.name));
    for (const float value : {scale.mean, scale.deviation, scale.low, scale.high}) add(value);
  }
  for (const Network& network : networks_) {
    for (const NetworkLayer& layer : network.layers()) {
      std::ranges::for_each(layer.weights, add);
      std::ranges::for_each(layer.bias, add);
    }
  }
  return hash.value();
}

Ensemble::Answer Ensemble::run(std::span<const float> features, std::span<float> state) const {
  FORETOKEN_CHECK(state.empty() || state.size() == state_width(), "room for {} of {} states",
                  state.size(), state_width());
  Buffer buffer;
  const std::span<float> inputs(buffer.data(), std::min(features.size(), buffer.size()));
  Answer answer;
  answer.clamped = scale(features, inputs);
  double sum = 0, squares = 0;
  for (const Network& network : networks_) {
    const auto width = state.empty() ? 0 : static_cast<std::size_t>(network.state_width());
    const double value = network.run(inputs, state.first(width));
    state = state.subspan(width);
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(networks_.size());
  answer.mean = sum / count;
  answer.spread = std::sqrt(std::max(0.0, squares / count - answer.mean * answer.mean));
  return answer;
}

}  // namespace foretoken

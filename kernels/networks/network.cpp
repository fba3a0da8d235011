#include "kernels/networks/network.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"

namespace foretoken {
namespace {

using Buffer = std::array<float, network_width_max>;

/// Values further out than this share of the trained range do not count as clamped: rounding.
constexpr float edge_tolerance = 1e-4F;

/// Inputs of a layer that are not 0, in order. ReLU leaves about half of them, and half of a
/// network's time is getting its weights from the cache.
struct Active {
  std::array<std::uint32_t, network_width_max> inputs;
  std::size_t count = 0;

  Active(const float* values, int size) {
    for (int i = 0; i < size; ++i) {
      inputs[count] = static_cast<std::uint32_t>(i);
      count += values[i] != 0 ? 1 : 0;
    }
  }
};

/// Of a layer with this many inputs or more, sums are made of so many inputs at a time. One order
/// for all machines: artifacts were trained, and prices told, by sums in it.
constexpr int inputs_in_blocks = 128;
constexpr std::uint32_t block_inputs = 16;

/// `outputs` sums of a layer from number `first` on, input by input: max(0, bias + weights x in).
template <Lanes lanes, int outputs>
[[gnu::always_inline]] inline void run_rows(const NetworkLayer& layer, int first, const float* in,
                                            const Active& active, float* out) {
  using Vector = typename VectorOf<float, lanes>::Type;
  constexpr int width = sizeof(Vector) / sizeof(float);
  constexpr int vectors = outputs / width;
  const float* const weights = layer.weights.data() + first;
  const auto* const bias = reinterpret_cast<const Vector*>(layer.bias.data() + first);
  Vector all[vectors];
  for (int v = 0; v < vectors; ++v) all[v] = bias[v];
  const bool in_blocks = layer.inputs >= inputs_in_blocks;
  for (std::size_t i = 0; i < active.count;) {
    const std::uint32_t end = in_blocks ? (active.inputs[i] / block_inputs + 1) * block_inputs
                                        : static_cast<std::uint32_t>(layer.inputs);
    Vector sums[vectors] = {};
    for (; i < active.count && active.inputs[i] < end; ++i) {
      const std::size_t input = active.inputs[i];
      const auto* const column = reinterpret_cast<const Vector*>(
          weights + input * static_cast<std::size_t>(layer.outputs));
      const Vector value = Vector{} + in[input];
      for (int v = 0; v < vectors; ++v) sums[v] += column[v] * value;
    }
    for (int v = 0; v < vectors; ++v) all[v] += sums[v];
  }
  for (int v = 0; v < vectors; ++v) {
    *reinterpret_cast<Vector*>(out + first + v * width) = all[v] > 0 ? all[v] : Vector{};
  }
}

/// The same for one output, without vectors.
float run_row(const NetworkLayer& layer, int row, const float* in, const Active& active) {
  const float* const weights = layer.weights.data() + row;
  float all = layer.bias[static_cast<std::size_t>(row)];
  const bool in_blocks = layer.inputs >= inputs_in_blocks;
  for (std::size_t i = 0; i < active.count;) {
    const std::uint32_t end = in_blocks ? (active.inputs[i] / block_inputs + 1) * block_inputs
                                        : static_cast<std::uint32_t>(layer.inputs);
    float sum = 0;
    for (; i < active.count && active.inputs[i] < end; ++i) {
      const std::size_t input = active.inputs[i];
      sum += weights[input * static_cast<std::size_t>(layer.outputs)] * in[input];
    }
    all += sum;
  }
  return all > 0 ? all : 0;
}

template <Lanes lanes>
[[gnu::always_inline]] inline void run_layer(const NetworkLayer& layer, const float* in,
                                             float* out) {
  const Active active(in, layer.inputs);
  int row = 0;
  for (; row + 64 <= layer.outputs; row += 64) run_rows<lanes, 64>(layer, row, in, active, out);
  for (; row + 16 <= layer.outputs; row += 16) run_rows<lanes, 16>(layer, row, in, active, out);
  for (; row < layer.outputs; ++row) out[row] = run_row(layer, row, in, active);
}

/// All layers but the last; returns what that one is given, in one of `buffers`.
template <Lanes lanes>
[[gnu::always_inline]] inline const float* run_hidden(std::span<const NetworkLayer> layers,
                                                      const float* in,
                                                      std::array<Buffer, 2>& buffers) {
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    float* const out = buffers[i % 2].data();
    run_layer<lanes>(layers[i], in, out);
    in = out;
  }
  return in;
}

FORETOKEN_WIDE const float* run_hidden_wide(std::span<const NetworkLayer> layers, const float* in,
                                            std::array<Buffer, 2>& buffers) {
  return run_hidden<Lanes::wide>(layers, in, buffers);
}

float run_last(const NetworkLayer& layer, const float* in) {
  float sum = layer.weights[0] * in[0];
  for (int i = 1; i < layer.inputs; ++i) sum += layer.weights[static_cast<std::size_t>(i)] * in[i];
  return layer.bias[0] + sum;
}

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

float Network::run(std::span<const float> inputs, std::span<float> state, Lanes lanes) const {
  FORETOKEN_CHECK(inputs.size() == static_cast<std::size_t>(layers_.front().inputs),
                  "{} inputs instead of {}", inputs.size(), layers_.front().inputs);
  FORETOKEN_CHECK(state.empty() || state.size() == static_cast<std::size_t>(state_width()),
                  "room for {} of {} states", state.size(), state_width());
  std::array<Buffer, 2> buffers;
  const float* const last = lanes == Lanes::wide
                                ? run_hidden_wide(layers_, inputs.data(), buffers)
                                : run_hidden<Lanes::narrow>(layers_, inputs.data(), buffers);
  std::copy(last, last + state.size(), state.begin());
  return run_last(layers_.back(), last);
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

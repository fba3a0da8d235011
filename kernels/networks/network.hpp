// Small feed-forward networks as trained in calibration/train, run without LibTorch: ReLU layers
// whose batch normalisation was folded into the weights, one number out. Inputs are standardised
// and held inside the trained range, so that a kernel far from the data gets the answer of the
// nearest edge instead of an extrapolation. Nothing is allocated on the way to an answer, which is
// the same on every machine: each sum has one order, however wide the vectors are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/lanes.hpp"

namespace foretoken {

/// y = W x + b; W is column-major, outputs x inputs.
struct NetworkLayer {
  int inputs = 0, outputs = 0;
  std::vector<float> weights;
  std::vector<float> bias;
};

/// Widest layer and longest list of inputs that a network may have.
inline constexpr int network_width_max = 512;
/// Most networks of an ensemble.
inline constexpr int networks_max = 16;

class Network {
 public:
  /// At least one layer, each as wide as the next expects, the last with one output (checked).
  explicit Network(std::vector<NetworkLayer> layers);

  /// ReLU after every layer but the last. `inputs` must have inputs() numbers. What the last layer
  /// is given goes to `state` if that is not empty, then it must have state_width() numbers.
  [[nodiscard]] float run(std::span<const float> inputs, std::span<float> state = {},
                          Lanes lanes = widest_lanes()) const;

  [[nodiscard]] int inputs() const { return layers_.front().inputs; }
  /// Inputs of the last layer.
  [[nodiscard]] int state_width() const { return layers_.back().inputs; }
  [[nodiscard]] const std::vector<NetworkLayer>& layers() const { return layers_; }

 private:
  std::vector<NetworkLayer> layers_;
};

/// How one input was distributed in training.
struct FeatureScale {
  std::string name;
  float mean = 0, deviation = 1;
  float low = 0, high = 0;  // smallest and largest value seen
};

/// Several networks that were trained from different starts: the mean of their answers is better
/// than each, and how far they are apart says how well the data pin the answer down.
class Ensemble {
 public:
  struct Answer {
    double mean = 0;
    double spread = 0;  // standard deviation between the networks
    int clamped = 0;    // inputs outside the trained range
  };

  Ensemble(std::vector<FeatureScale> features, std::vector<Network> networks);

  /// `features` as the family writes them, not scaled. What the networks made of them before their
  /// last layers goes to `state` if that is not empty: state_width() numbers.
  [[nodiscard]] Answer run(std::span<const float> features, std::span<float> state = {}) const;
  /// The features as the networks see them: held inside the trained range and standardised. Returns
  /// how many were outside.
  int scale(std::span<const float> features, std::span<float> scaled) const;

  /// Of all networks together.
  [[nodiscard]] std::size_t state_width() const;
  /// A hash of scales and weights: the same for the same answers.
  [[nodiscard]] std::uint64_t fingerprint() const;

  [[nodiscard]] const std::vector<FeatureScale>& features() const { return features_; }
  [[nodiscard]] const std::vector<Network>& networks() const { return networks_; }

 private:
  std::vector<FeatureScale> features_;
  std::vector<Network> networks_;
};

}  // namespace foretoken

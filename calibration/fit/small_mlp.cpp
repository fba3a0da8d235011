#include "calibration/fit/small_mlp.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/error.hpp"
#include "sim/base/random.hpp"

namespace foretoken {
namespace {

using Eigen::ArrayXXf;
using Eigen::MatrixXf;
using Eigen::VectorXf;

struct Layer {
  MatrixXf weights;  // outputs x inputs
  VectorXf bias;
  MatrixXf weights_mean, weights_square;
  VectorXf bias_mean, bias_square;

  Layer(int inputs, int outputs, RandomStream& stream)
      : weights(outputs, inputs), bias(VectorXf::Zero(outputs)) {
    // He's initialisation, uniform.
    const float bound = std::sqrt(6.0F / static_cast<float>(inputs));
    for (float& weight : weights.reshaped()) {
      weight = bound * static_cast<float>(2 * uniform(stream) - 1);
    }
    weights_mean = weights_square = MatrixXf::Zero(outputs, inputs);
    bias_mean = bias_square = VectorXf::Zero(outputs);
  }
};

template <class Values>
void adam(Values& values, const Values& gradient, Values& mean, Values& square, int step,
          float rate) {
  constexpr float keep = 0.9F, keep_square = 0.999F, epsilon = 1e-8F;
  mean = keep * mean + (1 - keep) * gradient;
  square = keep_square * square + (1 - keep_square) * gradient.cwiseAbs2();
  const float corrected =
      rate * std::sqrt(1 - std::pow(keep_square, float(step))) / (1 - std::pow(keep, float(step)));
  values.array() -= corrected * mean.array() / (square.array().sqrt() + epsilon);
}

}  // namespace

Ensemble fit_small_mlp(const std::vector<std::vector<float>>& points,
                       std::span<const double> targets, const SmallMlpOptions& options) {
  FORETOKEN_CHECK(points.size() >= 2 && points.size() == targets.size(), "{} points, {} targets",
                  points.size(), targets.size());
  const auto width = points.front().size();
  const auto count = static_cast<Eigen::Index>(points.size());
  std::vector<FeatureScale> scales(width);
  MatrixXf inputs(static_cast<Eigen::Index>(width), count);
  for (std::size_t i = 0; i < width; ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    for (Eigen::Index j = 0; j < count; ++j) inputs(row, j) = points[std::size_t(j)][i];
    const float mean = inputs.row(row).mean();
    const float deviation = std::sqrt((inputs.row(row).array() - mean).square().mean());
    scales[i] = {fmt::format("x{}", i), mean, deviation > 0 ? deviation : 1.0F,
                 inputs.row(row).minCoeff(), inputs.row(row).maxCoeff()};
    inputs.row(row) = (inputs.row(row).array() - mean) / scales[i].deviation;
  }
  Eigen::RowVectorXf wanted(count);
  for (Eigen::Index j = 0; j < count; ++j) wanted[j] = float(targets[std::size_t(j)]);

  RandomStream stream = RandomStreams(options.seed).stream("small_mlp");
  std::vector<Layer> layers;
  int before = static_cast<int>(width);
  for (const int size : options.widths) {
    layers.emplace_back(before, size, stream);
    before = size;
  }
  layers.emplace_back(before, 1, stream);
  layers.back().bias[0] = wanted.mean();

  std::vector<MatrixXf> outputs(layers.size() + 1);
  outputs[0] = inputs;
  for (int step = 1; step <= options.steps; ++step) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      outputs[i + 1] = (layers[i].weights * outputs[i]).colwise() + layers[i].bias;
      if (i + 1 < layers.size()) outputs[i + 1] = outputs[i + 1].cwiseMax(0.0F);
    }
    MatrixXf gradient = 2.0F / float(count) * (outputs.back() - wanted);
    const auto rate = static_cast<float>(
        options.learning_rate * 0.5 *
        (1 + std::cos(std::numbers::pi * double(step - 1) / double(options.steps))));
    for (std::size_t i = layers.size(); i-- > 0;) {
      const MatrixXf of_weights = gradient * outputs[i].transpose();
      const VectorXf of_bias = gradient.rowwise().sum();
      if (i > 0) {
        gradient = (layers[i].weights.transpose() * gradient)
                       .cwiseProduct((outputs[i].array() > 0).cast<float>().matrix());
      }
      adam(layers[i].weights, of_weights, layers[i].weights_mean, layers[i].weights_square, step,
           rate);
      adam(layers[i].bias, of_bias, layers[i].bias_mean, layers[i].bias_square, step, rate);
    }
  }
  std::vector<NetworkLayer> folded;
  for (const Layer& layer : layers) {
    folded.push_back({static_cast<int>(layer.weights.cols()),
                      static_cast<int>(layer.weights.rows()),
                      {layer.weights.data(), layer.weights.data() + layer.weights.size()},
                      {layer.bias.data(), layer.bias.data() + layer.bias.size()}});
  }
  std::vector<Network> networks;
  networks.emplace_back(std::move(folded));
  return {std::move(scales), std::move(networks)};
}

}  // namespace foretoken

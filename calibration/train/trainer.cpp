#include "calibration/train/trainer.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>

#include "sim/base/error.hpp"
#include "sim/base/fingerprint.hpp"

// OpenBLAS starts a thread a core unless told otherwise; another BLAS has no such function.
extern "C" void openblas_set_num_threads(int count) __attribute__((weak));

namespace foretoken {
namespace {

namespace nn = torch::nn;

constexpr std::uint64_t validation_percent = 10;
constexpr double gradient_norm_max = 5.0;
constexpr double log_error_max = 3.0;  // a prediction 20 times off pulls no harder than this
constexpr double batch_norm_momentum = 0.05;
// Sets of a few thousand rows get smaller networks, smaller batches and more epochs.
constexpr int rows_of_a_large_set = 20'000;
constexpr int batch_min = 32, batches_min = 16;
constexpr int steps_min = 5'000, epochs_of_a_large_set = 100, epochs_of_a_small_set = 400;
constexpr float deviation_min = 1e-4F;

std::vector<FeatureScale> scale_of(const TrainingSet& set) {
  const std::size_t rows = set.log_ratios.size();
  std::vector<FeatureScale> scales(set.features);
  for (std::size_t f = 0; f < set.features; ++f) {
    double sum = 0, squares = 0;
    FeatureScale& scale = scales[f];
    scale.name = set.names[f];
    scale.low = scale.high = set.inputs[f];
    for (std::size_t row = 0; row < rows; ++row) {
      const float value = set.inputs[row * set.features + f];
      sum += value;
      squares += static_cast<double>(value) * value;
      scale.low = std::min(scale.low, value);
      scale.high = std::max(scale.high, value);
    }
    const double mean = sum / static_cast<double>(rows);
    const double variance = std::max(0.0, squares / static_cast<double>(rows) - mean * mean);
    scale.mean = static_cast<float>(mean);
    scale.deviation = std::sqrt(static_cast<float>(variance));
    if (scale.deviation < deviation_min) scale.deviation = 1;  // a constant says nothing
  }
  return scales;
}

struct Tensors {
  torch::Tensor inputs, targets;
  torch::Tensor waves;  // a row, where the head asks for them
  std::vector<std::uint64_t> groups;
};

Tensors tensors_of(const TrainingSet& set, const std::vector<FeatureScale>& scales, Head head) {
  const auto rows = static_cast<std::int64_t>(set.log_ratios.size());
  const auto columns = static_cast<std::int64_t>(set.features);
  Tensors tensors;
  tensors.inputs = torch::empty({rows, columns});
  float* out = tensors.inputs.data_ptr<float>();
  for (std::size_t i = 0; i < set.inputs.size(); ++i) {
    const FeatureScale& scale = scales[i % set.features];
    out[i] = (set.inputs[i] - scale.mean) / scale.deviation;
  }
  tensors.targets = torch::empty({rows});
  std::ranges::copy(set.log_ratios, tensors.targets.data_ptr<float>());
  if (head == Head::wave_utilisation) {
    tensors.waves = torch::empty({rows});
    float* waves = tensors.waves.data_ptr<float>();
    for (std::size_t i = set.features - 1; i < set.inputs.size(); i += set.features) {
      *waves++ = std::exp2(set.inputs[i]);
    }
  }
  tensors.groups = set.groups;
  return tensors;
}

nn::Sequential make_network(std::size_t inputs, const TrainOptions& options) {
  nn::Sequential network;
  auto width = static_cast<std::int64_t>(inputs);
  for (const int next : options.widths) {
    network->push_back(nn::Linear(width, next));
    network->push_back(nn::ReLU());
    if (options.batch_norm) {
      network->push_back(
          nn::BatchNorm1d(nn::BatchNorm1dOptions(next).momentum(batch_norm_momentum)));
    }
    if (options.dropout > 0) network->push_back(nn::Dropout(options.dropout));
    width = next;
  }
  network->push_back(nn::Linear(width, outputs_of(options.head)));
  return network;
}

/// Efficiencies are spread over decades, and a relative error says little about an answer that is
/// decades too fast: start in the middle of the data. A wave's utilisation starts with a fill of a
/// hundredth.
void start_at_median(nn::Sequential& network, const torch::Tensor& targets, Head head) {
  if (head == Head::log_ratio) return;
  const torch::NoGradGuard no_gradients;
  const double efficiency = std::clamp(std::exp(-targets.median().item<double>()), 1e-3, 0.99);
  auto& bias = network->ptr<nn::LinearImpl>(network->size() - 1)->bias;
  bias[0] = std::log(efficiency / (1 - efficiency));
  if (head == Head::wave_utilisation) bias[1] = std::log(0.01 * efficiency);
}

torch::Tensor log_of_utilisation(const torch::Tensor& utilisation) {
  const torch::Tensor straight = std::log(utilisation_min) + utilisation / utilisation_min - 1;
  return torch::where(utilisation >= utilisation_min,
                      torch::log(utilisation.clamp_min(utilisation_min)), straight);
}

/// log(time / T) of some rows, as kernels/networks/head.cpp has it.
torch::Tensor log_ratios(nn::Sequential& network, const Tensors& tensors, const torch::Tensor& rows,
                         Head head) {
  const torch::Tensor answer = network->forward(tensors.inputs.index_select(0, rows));
  if (head == Head::log_ratio) return answer.squeeze(1);
  if (head == Head::efficiency) return torch::softplus(-answer.squeeze(1));
  const torch::Tensor fill =
      torch::sigmoid(answer.select(1, 1)) / tensors.waves.index_select(0, rows);
  return -log_of_utilisation(torch::sigmoid(answer.select(1, 0)) - fill);
}

torch::Tensor loss_of(const torch::Tensor& log_error, const torch::Tensor& targets,
                      const TrainOptions& options) {
  if (options.loss == Loss::mape) {
    return (torch::exp(log_error.clamp_max(log_error_max)) - 1).abs().mean();
  }
  // Efficiencies T / time: measured exp(-y), predicted exp(-(y + error)).
  const torch::Tensor measured = torch::exp(-targets);
  const torch::Tensor gap = measured - torch::exp(-(targets + log_error));
  return torch::maximum(options.quantile * gap, (options.quantile - 1) * gap).mean();
}

struct Split {
  torch::Tensor training, validation;  // row indices
};

Split split_rows(const Tensors& tensors, std::uint64_t salt) {
  std::vector<std::int64_t> training, validation;
  for (std::size_t row = 0; row < tensors.groups.size(); ++row) {
    const std::uint64_t hash = Fingerprint().add(tensors.groups[row]).add(salt).value();
    const bool is_validation = (hash ^ (hash >> 32)) % 100 < validation_percent;
    (is_validation ? validation : training).push_back(static_cast<std::int64_t>(row));
  }
  if (training.empty()) std::swap(training, validation);
  if (validation.empty()) validation = training;  // too few groups to spare one
  return {torch::tensor(training), torch::tensor(validation)};
}

std::vector<torch::Tensor> state_of(nn::Sequential& network) {
  std::vector<torch::Tensor> state;
  for (const torch::Tensor& tensor : network->parameters())
    state.push_back(tensor.detach().clone());
  for (const torch::Tensor& tensor : network->buffers()) state.push_back(tensor.detach().clone());
  return state;
}

void restore(nn::Sequential& network, const std::vector<torch::Tensor>& state) {
  const torch::NoGradGuard no_gradients;
  std::size_t i = 0;
  for (torch::Tensor& tensor : network->parameters()) tensor.copy_(state[i++]);
  for (torch::Tensor& tensor : network->buffers()) tensor.copy_(state[i++]);
}

double validation_loss(nn::Sequential& network, const Tensors& tensors, const torch::Tensor& rows,
                       const TrainOptions& options) {
  const torch::NoGradGuard no_gradients;
  network->eval();
  const torch::Tensor targets = tensors.targets.index_select(0, rows);
  const torch::Tensor error = log_ratios(network, tensors, rows, options.head) - targets;
  network->train();
  return loss_of(error, targets, options).item<double>();
}

/// How much longer a time must be predicted for the share `quantile` of these rows to be slower
/// (less efficient) than predicted: that quantile of log(predicted / measured), nearest rank.
float quantile_shift(nn::Sequential& network, const Tensors& tensors, const torch::Tensor& rows,
                     const TrainOptions& options) {
  const torch::NoGradGuard no_gradients;
  const torch::Tensor errors =
      log_ratios(network, tensors, rows, options.head) - tensors.targets.index_select(0, rows);
  const torch::Tensor sorted = std::get<0>(errors.sort());
  const std::int64_t count = sorted.size(0);
  const auto rank =
      static_cast<std::int64_t>(std::ceil(options.quantile * static_cast<double>(count)));
  return sorted[std::clamp<std::int64_t>(rank, 1, count) - 1].item<float>();
}

void shift_answers(nn::Sequential& network, float shift) {
  const torch::NoGradGuard no_gradients;
  network->ptr(network->size() - 1)->as<nn::Linear>()->bias.sub_(shift);
}

void run_epoch(nn::Sequential& network, torch::optim::AdamW& optimizer, const Tensors& tensors,
               const torch::Tensor& rows, const TrainOptions& options) {
  const torch::Tensor order = rows.index_select(0, torch::randperm(rows.size(0)));
  for (const torch::Tensor& batch : order.split(options.batch)) {
    if (batch.size(0) < 2) continue;  // batch normalisation needs two rows
    const torch::Tensor targets = tensors.targets.index_select(0, batch);
    const torch::Tensor error = log_ratios(network, tensors, batch, options.head) - targets;
    optimizer.zero_grad();
    loss_of(error, targets, options).backward();
    nn::utils::clip_grad_norm_(network->parameters(), gradient_norm_max);
    optimizer.step();
  }
}

void set_learning_rate(torch::optim::AdamW& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) {
    static_cast<torch::optim::AdamWOptions&>(group.options()).lr(rate);
  }
}

nn::Sequential train_member(const Tensors& tensors, const TrainOptions& options, int member,
                            TrainReport& report) {
  torch::manual_seed(options.seed * 1000 + static_cast<std::uint64_t>(member));
  nn::Sequential network = make_network(static_cast<std::size_t>(tensors.inputs.size(1)), options);
  start_at_median(network, tensors.targets, options.head);
  const Split split = split_rows(tensors, options.seed + 7919ULL * static_cast<unsigned>(member));
  torch::optim::AdamW optimizer(
      network->parameters(),
      torch::optim::AdamWOptions(options.learning_rate).weight_decay(options.weight_decay));
  double best = INFINITY;
  std::vector<torch::Tensor> best_state = state_of(network);
  int epoch = 0;
  for (int since_best = 0; epoch < options.epochs && since_best <= options.patience; ++epoch) {
    const double phase = std::numbers::pi * epoch / options.epochs;
    set_learning_rate(optimizer, options.learning_rate * 0.5 * (1 + std::cos(phase)));
    run_epoch(network, optimizer, tensors, split.training, options);
    const double loss = validation_loss(network, tensors, split.validation, options);
    ++since_best;
    if (loss < best) {
      best = loss;
      best_state = state_of(network);
      since_best = 0;
    }
  }
  restore(network, best_state);
  network->eval();
  if (options.loss == Loss::quantile && options.head == Head::log_ratio) {
    shift_answers(network, quantile_shift(network, tensors, split.validation, options));
  }
  report.epochs = std::max(report.epochs, epoch);
  report.validation_error += best / options.members;
  return network;
}

void add_answers(nn::Sequential& network, const Tensors& tensors, const TrainOptions& options,
                 TrainReport& report) {
  const torch::NoGradGuard no_gradients;
  const auto rows = std::min(tensors.inputs.size(0), static_cast<std::int64_t>(report_answers_max));
  torch::Tensor answers =
      log_ratios(network, tensors, torch::arange(rows), options.head).contiguous();
  if (options.head == Head::wave_utilisation) answers.clamp_max_(-std::log(utilisation_min));
  report.answers.resize(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < report.answers.size(); ++i) {
    report.answers[i] += answers.data_ptr<float>()[i] / static_cast<double>(options.members);
  }
}

/// y = W (scale * x + shift) + b becomes y = W' x + b'.
NetworkLayer fold(const nn::LinearImpl& linear, const torch::Tensor& scale,
                  const torch::Tensor& shift) {
  const torch::NoGradGuard no_gradients;
  const torch::Tensor weights = linear.weight * scale.unsqueeze(0);
  const torch::Tensor bias = linear.bias + linear.weight.mv(shift);
  // Column-major: the transpose, row by row.
  const torch::Tensor columns = weights.t().contiguous();
  NetworkLayer layer;
  layer.inputs = static_cast<int>(weights.size(1));
  layer.outputs = static_cast<int>(weights.size(0));
  layer.weights.assign(columns.data_ptr<float>(), columns.data_ptr<float>() + columns.numel());
  layer.bias.assign(bias.data_ptr<float>(), bias.data_ptr<float>() + bias.numel());
  return layer;
}

/// A network for each output: the layers before the last are the same.
std::vector<Network> split_outputs(const std::vector<NetworkLayer>& layers) {
  std::vector<Network> networks;
  const NetworkLayer& last = layers.back();
  for (int output = 0; output < last.outputs; ++output) {
    NetworkLayer row{last.inputs, 1, {}, {last.bias[static_cast<std::size_t>(output)]}};
    for (int input = 0; input < last.inputs; ++input) {
      row.weights.push_back(last.weights[static_cast<std::size_t>(input * last.outputs + output)]);
    }
    std::vector<NetworkLayer> one = layers;
    one.back() = std::move(row);
    networks.emplace_back(std::move(one));
  }
  return networks;
}

std::vector<Network> fold_batch_norm(nn::Sequential& network) {
  const torch::NoGradGuard no_gradients;
  std::vector<NetworkLayer> layers;
  torch::Tensor scale, shift;  // what the batch normalisation before a layer does
  for (const auto& module : *network) {
    if (auto* linear = module.ptr()->as<nn::Linear>()) {
      const std::int64_t inputs = linear->weight.size(1);
      if (!scale.defined()) scale = torch::ones({inputs}), shift = torch::zeros({inputs});
      layers.push_back(fold(*linear, scale, shift));
      scale = shift = torch::Tensor();
    } else if (auto* norm = module.ptr()->as<nn::BatchNorm1d>()) {
      scale = norm->weight / torch::sqrt(norm->running_var + norm->options.eps());
      shift = norm->bias - norm->running_mean * scale;
    }
  }
  return split_outputs(layers);
}

}  // namespace

TrainOptions sized_for(const TrainOptions& options, std::size_t rows) {
  TrainOptions sized = options;
  const auto count = static_cast<int>(std::min<std::size_t>(rows, 1'000'000'000));
  if (sized.widths.empty()) {
    sized.widths = count >= rows_of_a_large_set ? std::vector{128, 64} : std::vector{64, 32};
  }
  sized.batch = std::min(options.batch, std::max(batch_min, count / batches_min));
  const int steps = std::max(1, count / sized.batch);
  if (options.epochs == 0) {
    sized.epochs = std::clamp(steps_min / steps, epochs_of_a_large_set, epochs_of_a_small_set);
    sized.patience = options.patience * sized.epochs / epochs_of_a_large_set;
  }
  return sized;
}

Ensemble train(const TrainingSet& set, const TrainOptions& asked, TrainReport& report) {
  FORETOKEN_CHECK(
      !set.log_ratios.empty() && set.inputs.size() == set.features * set.log_ratios.size() &&
          set.groups.size() == set.log_ratios.size(),
      "{} inputs, {} rows, {} groups", set.inputs.size(), set.log_ratios.size(), set.groups.size());
  at::set_num_threads(1);
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  const TrainOptions options = sized_for(asked, set.log_ratios.size());
  std::vector<FeatureScale> scales = scale_of(set);
  const Tensors tensors = tensors_of(set, scales, options.head);
  std::vector<Network> networks;
  report = {};
  report.library = fmt::format("LibTorch {}", TORCH_VERSION);
  for (int member = 0; member < options.members; ++member) {
    nn::Sequential network = train_member(tensors, options, member, report);
    add_answers(network, tensors, options, report);
    std::ranges::move(fold_batch_norm(network), std::back_inserter(networks));
  }
  return {std::move(scales), std::move(networks)};
}

}  // namespace foretoken

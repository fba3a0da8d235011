// Trains ensembles of small networks with LibTorch (trainer.cpp is the only file that includes it)
// and hands them on folded, as kernels/networks/network.hpp runs them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/networks/head.hpp"

namespace foretoken {

/// mape: mean of |predicted - measured| / measured. quantile: pinball loss on the efficiency
/// T / time at `quantile`, which learns what only the best launches reach; each network's answer is
/// then shifted so that this share of its validation rows lies below it (conformal quantile
/// regression), since training fits the rows it sees more tightly than those it does not.
enum class Loss { mape, quantile };

struct TrainOptions {
  std::vector<int> widths;  // hidden layers; empty = by the number of rows. The paper: 256, 128, 64
  double dropout = 0.0;     // the paper: 0.1
  bool batch_norm = true;
  double learning_rate = 6e-3;  // at the start; falls to zero along a cosine. The paper: 1e-3
  double weight_decay = 1e-2;   // AdamW
  int epochs = 0;     // at most; 0 = 100, or more where the rows are few: some 5,000 steps in all
  int patience = 25;  // epochs without gain on the validation layouts
  int batch = 512;    // at most; less where the rows are few
  int members = 3;
  std::uint64_t seed = 1;
  Loss loss = Loss::mape;
  double quantile = 0.8;
  Head head = Head::log_ratio;  // the others start where their answer is the median of the rows
};

struct TrainingSet {
  std::size_t features = 0;
  std::vector<float> inputs;          // rows x features, not scaled
  std::vector<float> log_ratios;      // a row
  std::vector<std::uint64_t> groups;  // a row; rows of a group are never split by validation
  std::vector<std::string> names;     // a feature
};

/// Rows of the set whose answers a report keeps.
inline constexpr std::size_t report_answers_max = 100;

struct TrainReport {
  std::string library;          // "LibTorch 1.13.1"
  int epochs = 0;               // of the longest member
  double validation_error = 0;  // mean over members, each on its own validation groups
  /// log(time / T) of the first rows as LibTorch itself has it, mean over members: to compare with
  /// log_ratio() of the ensemble, whose weights are folded.
  std::vector<double> answers;
};

/// The options with what depends on the number of rows filled in.
TrainOptions sized_for(const TrainOptions& options, std::size_t rows);

/// Needs at least two groups. The same set, options and machine give the same networks.
Ensemble train(const TrainingSet& set, const TrainOptions& options, TrainReport& report);

}  // namespace foretoken

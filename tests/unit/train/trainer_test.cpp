// Training: it learns, repeats itself, and what Eigen runs is what LibTorch trained. A program of
// its own, because half a second goes by before LibTorch is loaded.
#include "calibration/train/trainer.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/random.hpp"

namespace foretoken {
namespace {

/// log ratio = 0.5 a - 0.3 a b over a in [0, 1), b in [0, 2); a third input is constant.
TrainingSet known_function(int rows) {
  TrainingSet set;
  set.features = 3;
  set.names = {"a", "b", "constant"};
  RandomStream stream = RandomStreams(5).stream("rows");
  for (int row = 0; row < rows; ++row) {
    const auto a = static_cast<float>(uniform(stream));
    const auto b = static_cast<float>(2 * uniform(stream));
    set.inputs.insert(set.inputs.end(), {a, b, 7.0F});
    set.log_ratios.push_back(0.5F * a - 0.3F * a * b);
    set.groups.push_back(static_cast<std::uint64_t>(row / 10));
  }
  return set;
}

TrainOptions quick() {
  TrainOptions options;
  options.widths = {32, 16};
  options.epochs = 30;
  options.batch = 128;
  options.members = 2;
  return options;
}

TEST(Trainer, RunsInEigenAsInLibTorch) {
  TrainOptions options = quick();
  options.epochs = 3;
  options.dropout = 0.1;  // must not show in answers
  const TrainingSet set = known_function(1000);
  TrainReport report;
  const Ensemble ensemble = train(set, options, report);
  ASSERT_EQ(report.answers.size(), report_answers_max);
  for (std::size_t row = 0; row < report.answers.size(); ++row) {
    const std::span<const float> inputs(&set.inputs[3 * row], 3);
    // Single precision, three layers of at most 32 terms.
    EXPECT_NEAR(ensemble.run(inputs).mean, report.answers[row], 1e-5) << row;
  }
}

TEST(Trainer, RunsBaselinesInEigenAsInLibTorch) {
  for (const Head head : {Head::efficiency, Head::wave_utilisation}) {
    TrainOptions options = quick();
    options.epochs = 3;
    options.head = head;
    const TrainingSet set = known_function(1000);  // the last input stands for log2 of 128 waves
    TrainReport report;
    const Ensemble ensemble = train(set, options, report);
    ASSERT_EQ(ensemble.networks().size(), 2U * static_cast<unsigned>(outputs_of(head)));
    for (std::size_t row = 0; row < report.answers.size(); ++row) {
      const std::span<const float> inputs(&set.inputs[3 * row], 3);
      EXPECT_NEAR(log_ratio(head, ensemble, inputs), report.answers[row], 1e-5) << row;
    }
  }
}

// Utilisation 0.8 - 0.3 / waves, which the head can say exactly with constant answers.
TEST(Trainer, LearnsAUtilisationOfWaves) {
  TrainingSet set;
  set.features = 1;
  set.names = {"log2_waves"};
  for (int row = 0; row < 4000; ++row) {
    const double waves = 1 + row % 40;
    set.inputs.push_back(static_cast<float>(std::log2(waves)));
    set.log_ratios.push_back(static_cast<float>(-std::log(0.8 - 0.3 / waves)));
    set.groups.push_back(static_cast<std::uint64_t>(row));
  }
  TrainOptions options = quick();
  options.head = Head::wave_utilisation;
  options.members = 1;
  TrainReport report;
  const Ensemble ensemble = train(set, options, report);
  for (const double waves : {1.0, 2.0, 30.0}) {
    const float input[] = {static_cast<float>(std::log2(waves))};
    EXPECT_NEAR(log_ratio(Head::wave_utilisation, ensemble, input), -std::log(0.8 - 0.3 / waves),
                0.01);
  }
}

TEST(Trainer, LearnsAKnownFunction) {
  TrainReport report;
  const Ensemble ensemble = train(known_function(4000), quick(), report);
  EXPECT_LT(report.validation_error, 0.02);
  const float inputs[] = {0.5F, 1.5F, 7.0F};
  EXPECT_NEAR(ensemble.run(inputs).mean, 0.5 * 0.5 - 0.3 * 0.5 * 1.5, 0.02);
}

TEST(Trainer, RepeatsItself) {
  TrainOptions options = quick();
  options.epochs = 2;
  TrainReport report;
  const TrainingSet set = known_function(500);
  const Ensemble first = train(set, options, report);
  const Ensemble second = train(set, options, report);
  options.seed = 2;
  const Ensemble other = train(set, options, report);
  const auto& weights = first.networks()[1].layers()[0].weights;
  EXPECT_EQ(second.networks()[1].layers()[0].weights, weights);
  EXPECT_NE(other.networks()[1].layers()[0].weights, weights);
}

TEST(Trainer, GivesSmallSetsSmallNetworksAndMoreEpochs) {
  const TrainOptions large = sized_for({}, 100'000);
  EXPECT_EQ(large.widths, (std::vector{128, 64}));
  EXPECT_EQ(large.batch, 512);
  EXPECT_EQ(large.epochs, 100);
  // 1,600 rows: batches of 1600 / 16 = 100, 16 steps an epoch, 5000 / 16 = 312 epochs.
  const TrainOptions small = sized_for({}, 1'600);
  EXPECT_EQ(small.widths, (std::vector{64, 32}));
  EXPECT_EQ(small.batch, 100);
  EXPECT_EQ(small.epochs, 312);
  EXPECT_EQ(small.patience, 25 * 312 / 100);
}

TEST(Trainer, LearnsAQuantile) {
  // Efficiency T / time is uniform over [0.4, 0.8): its 80 % quantile is 0.72, so log(time / T) is
  // -log(0.72) = 0.3285.
  TrainingSet set;
  set.features = 1;
  set.names = {"nothing"};
  for (int row = 0; row < 4000; ++row) {
    set.inputs.push_back(1.0F);
    set.log_ratios.push_back(static_cast<float>(-std::log(0.4 + 0.4 * ((row * 37) % 4000) / 4000)));
    set.groups.push_back(static_cast<std::uint64_t>(row));
  }
  TrainOptions options = quick();
  options.loss = Loss::quantile;
  options.widths = {4};
  TrainReport report;
  const Ensemble ensemble = train(set, options, report);
  const float input[] = {1.0F};
  EXPECT_NEAR(ensemble.run(input).mean, 0.3285, 0.02);
}

TEST(Trainer, AQuantileHoldsOnRowsItDidNotSee) {
  // Many inputs of noise invite a network to learn its rows by heart; the shift by validation rows
  // keeps the share of new rows below the ceiling near what was asked for.
  RandomStream stream = RandomStreams(9).stream("noise");
  const auto noise = [&](int rows) {
    TrainingSet set;
    set.features = 12;
    for (int f = 0; f < 12; ++f) set.names.push_back(fmt::format("noise{}", f));
    for (int row = 0; row < rows; ++row) {
      for (int f = 0; f < 12; ++f) set.inputs.push_back(static_cast<float>(uniform(stream)));
      set.log_ratios.push_back(static_cast<float>(-std::log(0.4 + 0.4 * uniform(stream))));
      set.groups.push_back(static_cast<std::uint64_t>(row));
    }
    return set;
  };
  TrainOptions options = quick();
  options.loss = Loss::quantile;
  options.widths = {64, 32};
  TrainReport report;
  const Ensemble ensemble = train(noise(3000), options, report);
  const TrainingSet fresh = noise(2000);
  int below = 0;
  for (std::size_t row = 0; row < 2000; ++row) {
    const double ceiling =
        ensemble.run(std::span(fresh.inputs).subspan(row * 12, 12)).mean;  // log(time / T)
    below += fresh.log_ratios[row] >= ceiling ? 1 : 0;
  }
  EXPECT_NEAR(below / 2000.0, 0.8, 0.06);  // the mean of two members lies a little above each
}

}  // namespace
}  // namespace foretoken

// What requests take of one replica at least, by the prices of its steps: a prompt its own step, a
// token its share of the fullest step that memory allows, however requests come together.
// What it leaves out: host time, drafts that are refused, waiting, KV transfers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/planner/plan/traffic_sample.hpp"
#include "sim/prices/scenario_prices.hpp"
#include "sim/scenario/scenario.hpp"

namespace foretoken {

/// As a replica of a scenario without pools takes it. Throws PredictionError for what no predictor
/// prices on its GPU.
using PriceSteps = std::function<StepTimes(const Scenario& scenario)>;

/// One replica of a scenario without pools.
class ReplicaBounds {
 public:
  ReplicaBounds(const Scenario& scenario, const PriceSteps& price)
      : scenario_(scenario), price_(price) {}

  /// Works out what all else is made of. Where weights do not fit, `too_large` says so and the rest
  /// is meaningless.
  void prepare();
  std::string too_large;

  /// A prompt's first token: of one chunk through all stages; chunks may overlap across stages.
  double prompt_s(std::int64_t tokens);
  /// A token of a sequence alone, at the shortest context: all stages, one after the other.
  [[nodiscard]] double token_s() const;
  /// GPU time of each stage that a request takes of a replica with any number of them: its prompt
  /// on top of a step that reads the weights anyway.
  std::vector<double> prompt_work(const SampledRequest& request, const TrafficSample& traffic);
  /// The same of its tokens, in steps of as many sequences as there may be.
  std::vector<double> token_work(const SampledRequest& request);

 private:
  /// Steps of one attention rank's most sequences, on each stage.
  struct Steps {
    double sequences = 1;  // of all attention ranks
    std::vector<double> stages_s;
  };

  [[nodiscard]] const ParallelLayout& layout() const { return scenario_.deployment.layout; }
  [[nodiscard]] std::vector<double> times_of(const BatchShape& batch) const;
  [[nodiscard]] std::int64_t tokens_max() const;
  [[nodiscard]] std::int64_t chunk_of(std::int64_t tokens) const;
  const std::vector<double>& chunk_times(std::int64_t tokens);
  const Steps& full_steps(double context);
  [[nodiscard]] double tokens_a_step() const;
  [[nodiscard]] BatchShape decode_batch(std::int64_t sequences, std::int64_t context) const;

  const Scenario& scenario_;
  const PriceSteps& price_;
  StepTimes stages_;
  double cache_tokens_ = 1;  // of one attention rank
  std::vector<double> alone_;
  std::map<std::int64_t, std::vector<double>> chunks_;
  std::map<std::int64_t, Steps> full_;
};

}  // namespace foretoken

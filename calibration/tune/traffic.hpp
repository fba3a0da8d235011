// What a simulated run launches, as weights of a problem's shapes: the search then looks for the
// kernel that helps this traffic, model and layout most. The run comes as `foretoken simulate
// --steps` writes it; every step's number of tokens becomes the kernels of one rank's layers, and
// each launch counts for the shape nearest to it. Left out: attention and experts, whose cost is
// not in their number of tokens, and pipeline stages after the first.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "calibration/tune/problem.hpp"
#include "calibration/tune/traffic_steps.hpp"
#include "kernels/kernel.hpp"
#include "models/transformer.hpp"

namespace foretoken::tune {

/// How a problem's shapes stand for a run's launches.
struct TrafficShare {
  double launches = 0;  // of the run, that its shapes stand for
  double left_out = 0;  // of the same kernel, further than `reach` from every shape
  double distance = 1;  // mean factor between a launch's sizes and its shape's
};

class Traffic {
 public:
  /// A launch counts where its sizes multiplied are off by less.
  static constexpr double reach = 8;

  /// `steps`: as read_traffic_steps() takes them. Throws ConfigError for what it does not take, an
  /// unknown model or a layout that does not fit it.
  Traffic(const std::string& steps, const std::string& model, int tensor_parallel,
          Objective objective = Objective::cost);

  /// Sets the problem's weights by shape: launches in the run (objective tpot: times the answers
  /// that wait for each). launches is 0, and nothing set, for
  /// a kernel that serving does not know or the run does not launch.
  TrafficShare weigh(Problem& problem) const;

  /// Puts the run's own sizes in place of the problem's shapes, those that move most bytes
  /// together, where a kernel works row by row (norms, embedding): others may have sizes that they
  /// cannot take. False, and nothing changed, elsewhere.
  bool take_shapes(Problem& problem, std::size_t most = 12) const;

  [[nodiscard]] Objective objective() const { return objective_; }
  /// What the objective is a mean over: steps (cost), tokens of answers but the first (tpot).
  [[nodiscard]] double units() const { return units_; }
  /// The run's mean step, or its mean time between tokens.
  [[nodiscard]] double mean_seconds() const { return seconds_ / units_; }

 private:
  struct Counts {
    double launches = 0, weight = 0;
  };
  using Batch = std::pair<std::int64_t, std::int64_t>;  // tokens, rows of logits

  void add_launches(const Transformer& model, int tensor_parallel,
                    const std::map<Batch, Counts>& batches);

  Objective objective_;
  double units_ = 0, seconds_ = 0;
  std::vector<std::pair<Kernel, Counts>> launches_;
};

}  // namespace foretoken::tune

// What both versions of KernelBand know of their pulls: number and sum of rewards of each (cluster,
// strategy). Kept as a log, from which the sums are made anew whenever kernels change their
// cluster.
#pragma once

#include <array>
#include <vector>

#include "calibration/tune/policy.hpp"

namespace foretoken::tune {

class ClusterPulls {
 public:
  struct Sum {
    int count = 0;
    double reward = 0;
    /// Mean reward, with `pulls` imagined ones of `mean` among them.
    [[nodiscard]] double mean_with(double mean, double pulls) const {
      return (reward + mean * pulls) / (count + pulls);
    }
  };

  /// `assignment`: the cluster of each kernel; kernels beyond it are of the first.
  void add(const Arm& arm, double reward, const std::vector<int>& assignment) {
    log_.push_back({arm, reward});
    count(log_.back(), assignment);
  }
  /// After kernels may have moved.
  void recount(int clusters, const std::vector<int>& assignment) {
    sums_.assign(static_cast<std::size_t>(clusters), {});
    for (const Pull& pull : log_) count(pull, assignment);
  }

  [[nodiscard]] const Sum& at(int cluster, Strategy strategy) const {
    return sums_[static_cast<std::size_t>(cluster)][static_cast<std::size_t>(strategy)];
  }
  [[nodiscard]] std::size_t size() const { return log_.size(); }

 private:
  struct Pull {
    Arm arm;
    double reward = 0;
  };
  void count(const Pull& pull, const std::vector<int>& assignment) {
    const auto kernel = static_cast<std::size_t>(pull.arm.kernel);
    const int cluster = kernel < assignment.size() ? assignment[kernel] : 0;
    Sum& sum =
        sums_[static_cast<std::size_t>(cluster)][static_cast<std::size_t>(pull.arm.strategy)];
    ++sum.count;
    sum.reward += pull.reward;
  }

  std::vector<Pull> log_;
  std::vector<std::array<Sum, strategy_count>> sums_{1};
};

}  // namespace foretoken::tune

// KernelBand's Equations 1 to 5: what a kernel's time is over many shapes, what an attempt earned,
// and what was forgone (arXiv 2511.18868 v1, Section 3). One number a kernel: its speed-up, the
// runtime-weighted mean over shapes of reference / candidate (Section 5.1, weights from the
// reference), and its relative time, one over it.
#pragma once

#include <span>
#include <vector>

#include "calibration/tune/evaluation.hpp"

namespace foretoken::tune {

/// sum of w_i * reference_i / candidate_i with w_i = reference_i / sum of reference. 1 for the
/// reference itself. Both have the same, positive, number of shapes. `launches` of each shape count
/// with its time; empty: all alike. Not all of them may be 0.
double weighted_speedup(std::span<const double> reference, std::span<const double> candidate,
                        std::span<const double> launches = {});

enum class RewardRule {
  clipped,  // within [0, 1]: the paper's "bounded rewards"
  signed_,  // as Equation 3 says: a slower child earns less than nothing
};

/// Equation 3: (T(parent) - T(child)) / T(parent); 0 for a child that failed.
double reward_of(double parent_time, const Evaluation& child, double child_time, RewardRule rule);

/// Equation 5: rounds * best mean - earned. `best_mean` is the largest expected reward of any
/// (kernel, strategy), known only where every arm's outcomes are.
class Regret {
 public:
  explicit Regret(double best_mean) : best_mean_(best_mean) {}
  void add(double reward) {
    ++rounds_;
    earned_ += reward;
  }
  [[nodiscard]] double value() const { return rounds_ * best_mean_ - earned_; }
  [[nodiscard]] int rounds() const { return rounds_; }

 private:
  double best_mean_;
  double earned_ = 0;
  int rounds_ = 0;
};

}  // namespace foretoken::tune

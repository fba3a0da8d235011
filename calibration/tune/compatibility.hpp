// Equation 7: for each strategy a logistic head that says how probable it is that the strategy
// makes a kernel with this profile faster. Learned while the bandit plays: attempts gather in a
// buffer of the strategy's own, and a full buffer is one epoch of gradient descent.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "calibration/tune/pool.hpp"

namespace foretoken::tune {

struct HeadConfig {
  int buffer = 32;              // B
  double learning_rate = 0.05;  // eta
  double penalty = 1e-3;        // L2
};

/// Profiles scaled to [0, 1] by each number's smallest and largest over the pool; 0.5 where all
/// are equal.
class ProfileScale {
 public:
  void add(const Profile& profile);
  [[nodiscard]] Profile scaled(const Profile& profile) const;

 private:
  Profile least_{}, most_{};
  bool empty_ = true;
};

/// An attempt somebody made before: the profile scaled within its own pool.
struct PriorSample {
  Profile profile{};
  Strategy strategy = Strategy::tiling;
  bool improved = false;
};

class Compatibility {
 public:
  explicit Compatibility(const HeadConfig& config) : config_(config) {}

  /// Learns from `samples`, in their order, `epochs` times over; then each head's bias is moved so
  /// that its mean over the samples' profiles is 1/2: unseen kernels start undecided.
  void pretrain(std::span<const PriorSample> samples, int epochs);
  /// p_s(x). `scaled` is within [0, 1].
  [[nodiscard]] double probability(const Profile& scaled, Strategy strategy) const;
  /// One attempt; learns when the strategy's buffer is full.
  void add(const Profile& scaled, Strategy strategy, bool improved);

 private:
  struct Head {
    Profile weights{};
    double bias = 0;
    std::vector<std::pair<Profile, bool>> buffer;
  };
  void step(Head& head, const Profile& scaled, bool improved) const;

  HeadConfig config_;
  std::array<Head, strategy_count> heads_;
};

}  // namespace foretoken::tune

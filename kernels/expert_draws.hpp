// Assignments of a rank's experts where each token draws its own: the popularity of experts is the
// model's, the same in every step, and what a step of few tokens leaves idle follows from it
// (routing.hpp, Routing::Kind::popularity). Expected over draws, so that a token more never means
// fewer experts with work.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/routing.hpp"

namespace foretoken {

/// The expected largest of `draws` standard normal numbers: the normal quantile of Blom's plotting
/// position (draws - 0.375) / (draws + 0.25); within 0.03 for 2 to 512 draws. 0 up to one.
double expected_maximum(double draws);

class ExpertDraws {
 public:
  /// `held` experts with popularities by `law`, of which a token draws `chance` of each on average,
  /// none more than once.
  ExpertDraws(const PopularityLaw& law, int held, double chance, double tokens);

  /// How many experts have how many assignments, until all are named; neither is a whole number.
  void visit(const std::function<void(double experts, double each)>& visitor) const;
  /// Assignments of the busiest expert.
  [[nodiscard]] double largest() const;

 private:
  /// Quantiles of the law: more experts than this share one.
  static constexpr int quantiles_max = 64;
  /// Up to so many assignments, draws are told apart one by one; beyond, they are nearly normal.
  static constexpr int counts_end = 48;

  [[nodiscard]] double expected(int point) const;
  [[nodiscard]] double deviation(int point) const;

  int points_;
  double weight_;  // experts a quantile stands for
  double tokens_, range_;
  std::array<double, quantiles_max> chances_{};  // that a token draws it, the most popular first
  std::array<double, counts_end> experts_{};     // with so many assignments
  int few_end_ = 0;                              // quantiles from here on are in experts_
};

/// The assignments of each expert in a step like the others, the most popular first, adding up to
/// tokens x topk.
std::vector<std::int64_t> drawn_counts(double popularity_range, std::int64_t tokens, int topk,
                                       int experts);

/// Of the rank that has most of them, where each of `ranks` holds `held` experts.
ExpertDraws busiest_draws(double popularity_range, std::int64_t tokens, int topk, int experts,
                          int held, int ranks);

}  // namespace foretoken

// What a histogram of one step means for tiles of several heights: computed once a step, in one
// pass over the experts a height, and then shared by all configurations that dispatch compares.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace foretoken {

/// Row tiles of a height over all experts. An expert's tiles beyond the second, fourth and eighth
/// find its weights in L2 and SMs waiting: the first ones hide behind the weights' loading.
struct RowTiles {
  double tiles = 0;  // the first factor of Equation 1
  double beyond_2 = 0, beyond_4 = 0, beyond_8 = 0;
  double longest = 0;  // of the busiest expert
};

class RoutedStep {
 public:
  static constexpr std::size_t heights_max = 8;

  /// `heights`: powers of two, at most heights_max (checked). Nothing is allocated.
  RoutedStep(std::span<const std::int64_t> histogram, std::span<const int> heights);

  [[nodiscard]] double assignments() const { return assignments_; }
  [[nodiscard]] double active() const { return active_; }
  [[nodiscard]] const RowTiles& at(std::size_t height) const { return tiles_[height]; }

 private:
  double assignments_ = 0, active_ = 0;
  std::array<RowTiles, heights_max> tiles_{};
};

}  // namespace foretoken

// What is known of one layer's prices on a lattice of problem sizes (larger_problems.hpp). A walk
// over it looks at hundreds of points and asks for few of them, so that a point is found by its
// number, in rows that are made as walks come there.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "kernels/estimators/problem_size.hpp"

namespace foretoken {

class SizeLattice {
 public:
  using Point = std::array<int, size_axes_max>;  // steps above size 1; 0 where there is no axis

  struct Node {
    double first = -1, price = -1;  // seconds; 0: nobody prices so large a problem, -1: not asked
    double excess = std::numeric_limits<double>::quiet_NaN();  // logarithm; nan: not known yet
    std::uint32_t walk = 0;                                    // the last that came here
  };

  explicit SizeLattice(std::size_t axes)
      : last_(axes - 1), steps_(steps_per_octave[axes - 1]), end_(octaves_max * steps_ + 1) {
    std::size_t rows = 1;
    for (std::size_t axis = 0; axis < last_; ++axis) rows *= static_cast<std::size_t>(end_);
    rows_.resize(rows);
  }

  [[nodiscard]] std::size_t axes() const { return last_ + 1; }
  /// How many steps a size lies above 1, and the size so many steps above.
  [[nodiscard]] double steps_to(double size) const { return steps_ * std::log2(size); }
  [[nodiscard]] double size_at(int steps) const {
    return std::exp2(steps / static_cast<double>(steps_));
  }
  /// Walks go from 0 to here, this one not among them.
  [[nodiscard]] int end() const { return end_; }

  /// Stays where it is.
  [[nodiscard]] Node& at(const Point& point) {
    std::size_t row = 0;
    for (std::size_t axis = 0; axis <= last_; ++axis) {
      if (point[axis] >= end_) return beyond_[point];
      if (axis < last_)
        row = row * static_cast<std::size_t>(end_) + static_cast<std::size_t>(point[axis]);
    }
    if (rows_[row].empty()) rows_[row].resize(static_cast<std::size_t>(end_));
    return rows_[row][static_cast<std::size_t>(point[last_])];
  }

  /// The number of another walk, none of which has come anywhere yet.
  [[nodiscard]] std::uint32_t new_walk() { return ++walks_; }

 private:
  /// Steps to twice a size, by the number of axes.
  static constexpr std::array<int, size_axes_max> steps_per_octave = {8, 4, 1};
  /// No axis is followed beyond this: contexts that a window hides cost nothing however long.
  static constexpr int octaves_max = 20;

  std::size_t last_;
  int steps_, end_;
  std::vector<std::vector<Node>> rows_;
  std::map<Point, Node> beyond_;  // where no walk goes, but may start
  std::uint32_t walks_ = 0;
};

}  // namespace foretoken

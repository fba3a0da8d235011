// What each Stream-K grid policy gives on measured products, and what our price of a grid is worth:
// the second table of `evaluate --tiles`.
#pragma once

#include <string>
#include <vector>

#include "calibration/datasets/stream_k_times.hpp"
#include "sim/base/value.hpp"

namespace foretoken {

class StreamKReport {
 public:
  /// A policy, or what it is set beside. Ratios are to the same kernel with a CTA a tile; below 1
  /// is faster.
  struct Line {
    std::string who, half;  // half: "all", "judged" (tile_report.hpp), or of these "split": cases
                            // in which cutting the depth by a second kernel is 2 % faster
    std::size_t cases = 0;
    double cut = 0;               // share of cases in which it asks for another grid than that
    double median = 0, mean = 0;  // ratio; the mean is geometric
    double wins = 0, loses = 0;   // shares of cases 2 % or more faster, or slower
    double over_best = 0;         // geometric mean of its time over the best grid's
    /// Of the predicted ratio where the grid is another: median of |error|, and of the error. 0
    /// where nothing is predicted.
    double error = 0, bias = 0;
  };

  explicit StreamKReport(const std::vector<StreamKTimes>& files);

  [[nodiscard]] const std::vector<Line>& lines() const { return lines_; }
  [[nodiscard]] const Line* find(std::string_view who, std::string_view half) const;
  /// "" where nothing was measured.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] Value json() const;

 private:
  std::vector<Line> lines_;
  std::size_t cases_ = 0, times_ = 0;
  std::string machines_;
};

}  // namespace foretoken
